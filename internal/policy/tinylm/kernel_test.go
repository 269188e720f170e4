package tinylm

import (
	"math"
	"math/rand/v2"
	"testing"
)

func randSlice(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}

	return x
}

func TestGemmAgreesWithFloat64AndRowsDoNotDependOnNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []struct{ m, n, k int }{
		{1, 16, 3}, {7, 64, 64}, {13, 192, 64}, {6, 80, 16}, {25, 256, 300}, {2, 16, 0},
	} {
		for _, trans := range []bool{false, true} {
			ars, acs := d.k, 1
			if trans {
				ars, acs = 1, d.m
			}
			a, b := randSlice(r, d.m*d.k+1), randSlice(r, d.k*d.n+16)
			c0 := randSlice(r, d.m*d.n)
			c := append([]float32(nil), c0...)
			gemm(shape(d), matrix{a, ars, acs}, byRow(b, d.n), byRow(c, d.n), true)
			one := make([]float32, d.n)
			for i := 0; i < d.m; i++ {
				copy(one, c0[i*d.n:(i+1)*d.n])
				row := matrix{a[min(i*ars, len(a)-1):], ars, acs}
				gemm(shape{1, d.n, d.k}, row, byRow(b, d.n), byRow(one, d.n), true)
				for j := 0; j < d.n; j++ {
					want := float64(c0[i*d.n+j])
					for p := 0; p < d.k; p++ {
						want += float64(a[i*ars+p*acs]) * float64(b[p*d.n+j])
					}
					got := c[i*d.n+j]
					if math.Abs(float64(got)-want) > 1e-3 {
						t.Fatalf("%+v, transposed %v: C[%d,%d] = %v, want %v", d, trans, i, j, got, want)
					}
					if one[j] != got {
						t.Fatalf("%+v: C[%d,%d] = %v of a row alone, want %v as in the batch", d, i, j, one[j], got)
					}
				}
			}
		}
	}
}

func TestExpRowAgreesWithFloat64(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x := make([]float32, 64)
	for i := range x {
		x[i] = float32(-20 * r.Float64())
	}

	y := append([]float32(nil), x...)
	sum := expRow(y, 0)
	var want float64
	for i := range x {
		e := math.Exp(float64(x[i]))
		want += e
		if math.Abs(float64(y[i])-e) > 1e-6*e+1e-30 {
			t.Fatalf("exp(%v) = %v, want %v", x[i], y[i], e)
		}
	}

	if math.Abs(float64(sum)-want) > 1e-4*want {
		t.Fatalf("sum = %v, want %v", sum, want)
	}
}
