//go:build !amd64

package tinylm

// Kernel names the arithmetic in use. Bits are promised equal only between runs with the same kernel, so checkpoints carry it.
func Kernel() string { return "portable" }

func gemm(m, n, k int, a []float32, ars, acs int, b []float32, ldb int, c []float32, ldc int, add bool) {
	gemmPortable(m, n, k, a, ars, acs, b, ldb, c, ldc, add)
}

func expRow(x []float32, shift float32) float32 { return expRowPortable(x, shift) }
