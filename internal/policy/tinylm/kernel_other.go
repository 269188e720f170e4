//go:build !amd64

package tinylm

// Kernel returns the name of the kernels in use. Results have equal bits only if they were computed with the same
// kernel, so checkpoints contain its name.
func Kernel() string { return "portable" }

var gemmFast = gemmPortable

func expRow(x []float32, shift float32) float32 { return expRowPortable(x, shift) }

var (
	biasMax    = biasMaxPortable
	scaleRow   = scaleRowPortable
	relu       = reluPortable
	sumSquares = sumSquaresPortable
	mulGain    = mulGainPortable
	addTo      = addToPortable

	keepPositive = keepPositivePortable
	addScaled    = addScaledPortable
	normBack     = normBackPortable
	adam         = adamPortable
)
