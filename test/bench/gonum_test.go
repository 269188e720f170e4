//go:build integration

package bench

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/collabui/collabui/internal/policy/tinylm"
)

var impl gonum.Implementation

// withGonum runs f with every matrix product done by gonum. A is stored by rows or by columns, never otherwise.
func withGonum(f func() float64) float64 {
	restore := tinylm.ReplaceGemm(func(
		m, n, k int, a []float32, ars, acs int, b []float32, ldb int, c []float32, ldc int, add bool,
	) {
		beta := float32(0)
		if add {
			beta = 1
		}
		if acs == 1 {
			impl.Sgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, ars, b, ldb, beta, c, ldc)
		} else {
			impl.Sgemm(blas.Trans, blas.NoTrans, m, n, k, 1, a, acs, b, ldb, beta, c, ldc)
		}
	})
	defer restore()

	return f()
}
