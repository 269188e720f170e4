package tinylm

import "math"

// gemm is the matrix product that the model uses. Only benchmarks replace it.
var gemm = gemmFast

// matrix is a matrix in a slice.
type matrix struct {
	x        []float32
	row, col int // distances between rows and between columns
}

// byRow returns a matrix whose rows begin ld values apart.
func byRow(x []float32, ld int) matrix { return matrix{x: x, row: ld, col: 1} }

// byColumn returns a matrix whose columns begin ld values apart.
func byColumn(x []float32, ld int) matrix { return matrix{x: x, row: 1, col: ld} }

// shape is the shape of the product of an m×k and a k×n matrix. n must be a multiple of 16.
type shape struct{ m, n, k int }

// gemmPortable computes C = A·B, or C += A·B if add is set. B and C must be by row. Each cell's products are added in
// ascending k, so the bits of a row do not depend on its neighbours.
func gemmPortable(s shape, a, b, c matrix, add bool) {
	var acc [16]float32
	for i := 0; i < s.m; i++ {
		for j := 0; j < s.n; j += 16 {
			acc = [16]float32{}
			for p := 0; p < s.k; p++ {
				av := a.x[i*a.row+p*a.col]
				row := b.x[p*b.row+j : p*b.row+j+16]
				for q, bv := range row {
					acc[q] += av * bv
				}
			}
			out := c.x[i*c.row+j : i*c.row+j+16]
			for q := range out {
				if add {
					out[q] += acc[q]
				} else {
					out[q] = acc[q]
				}
			}
		}
	}
}

// expRowPortable replaces x by exp(x−shift) and returns the sum. As in the vector kernel, len(x) must be a multiple of
// 8.
func expRowPortable(x []float32, shift float32) float32 {
	var sum float32
	for i, v := range x {
		e := float32(math.Exp(float64(max(v-shift, -87))))
		x[i] = e
		sum += e
	}

	return sum
}

// biasMaxPortable computes x = x·scale + bias[rel] and returns the largest element.
func biasMaxPortable(x []float32, rel []uint8, bias []float32, scale float32) float32 {
	top := float32(math.Inf(-1))
	for i := range x {
		x[i] = x[i]*scale + bias[rel[i]]
		top = max(top, x[i])
	}

	return top
}

func scaleRowPortable(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}

func reluPortable(x []float32) {
	for i, v := range x {
		x[i] = max(v, 0)
	}
}

func sumSquaresPortable(x []float32) (s float32) {
	for _, v := range x {
		s += v * v
	}

	return s
}

func mulGainPortable(out, x, gain []float32, by float32) {
	for i, v := range x {
		out[i] = v * by * gain[i]
	}
}

func addToPortable(x, y []float32) {
	for i, v := range y {
		x[i] += v
	}
}

func keepPositivePortable(x, by []float32) {
	for i, v := range by {
		if v <= 0 {
			x[i] = 0
		}
	}
}

func addScaledPortable(x, y []float32, by float32) {
	for i, v := range y {
		x[i] += v * by
	}
}

func normBackPortable(dx, dgain, dy, x, gain []float32, inv, s float32) {
	for i, v := range dy {
		dgain[i] += v * x[i] * inv
		dx[i] += v*gain[i]*inv - x[i]*s
	}
}

func adamPortable(w, g, m, v []float32, rates adamRates) {
	for i, x := range g {
		x *= rates.scale
		m[i] = beta1*m[i] + (1-beta1)*x
		v[i] = beta2*v[i] + (1-beta2)*x*x
		if m[i] != 0 {
			w[i] = w[i]*rates.decay - rates.c1*m[i]/(sqrt32(v[i]*rates.c2)+adamEps)
		}
	}
}
