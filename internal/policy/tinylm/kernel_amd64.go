//go:build amd64

package tinylm

import (
	"os"
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:noescape
func gemm6x16(k int, a *float32, ars, acs int, b *float32, ldb int, c *float32, ldc int, add int)

//go:noescape
func gemm1x16(k int, a *float32, acs int, b *float32, ldb int, c *float32, add int)

//go:noescape
func gemm1x64(k int, a *float32, acs int, b *float32, ldb int, c *float32, add int)

//go:noescape
func exp8(x *float32, n int, shift float32) float32

// fmaPeak runs n rounds of twelve independent fused multiply-adds of 8 lanes, for benchmarks.
//
//go:noescape
func fmaPeak(n int) float32

//go:noescape
func biasMax8(x *float32, rel *uint8, bias *float32, n int, scale float32) float32

//go:noescape
func scale8(x *float32, n int, by float32)

//go:noescape
func relu8(x *float32, n int)

//go:noescape
func sumSquares8(x *float32, n int) float32

//go:noescape
func mulGain8(out, x, gain *float32, n int, by float32)

//go:noescape
func add8(x, y *float32, n int)

//go:noescape
func keepPositive8(x, by *float32, n int)

//go:noescape
func addScaled8(x, y *float32, n int, by float32)

//go:noescape
func normBack8(dx, dgain, dy, x, gain *float32, n int, inv, s float32)

//go:noescape
func adam8(w, grad, m, v *float32, n int, scale, decay, c1, c2 float32)

// vectors reports whether the AVX2 kernels are in use. COLLABUI_KERNEL=portable disables them.
var vectors = vectorised(os.Getenv("COLLABUI_KERNEL"))

func vectorised(kernel string) bool { return kernel != "portable" && cpu.X86.HasAVX2 && cpu.X86.HasFMA }

// Kernel returns the name of the kernels in use. Results have equal bits only if they were computed with the same
// kernel, so checkpoints contain its name.
func Kernel() string {
	if vectors {
		return "avx2-6x16"
	}

	return "portable"
}

// gemmFast is gemmPortable with vector kernels: blocks of six rows, then single rows.
func gemmFast(s shape, a, b, c matrix, add bool) {
	if s.m == 0 || s.n == 0 {
		return
	}

	if !vectors {
		gemmPortable(s, a, b, c, add)
		return
	}

	ad := 0
	if add {
		ad = 1
	}

	pa := unsafe.Pointer(&a.x[0])
	pb := unsafe.Pointer(&b.x[0])
	pc := unsafe.Pointer(&c.x[0])
	at := func(pointer unsafe.Pointer, i int) *float32 { return (*float32)(unsafe.Add(pointer, i*4)) }
	i := 0
	for ; i+6 <= s.m; i += 6 {
		for j := 0; j < s.n; j += 16 {
			gemm6x16(s.k, at(pa, i*a.row), a.row*4, a.col*4, at(pb, j), b.row*4, at(pc, i*c.row+j), c.row*4, ad)
		}
	}

	for ; i < s.m; i++ {
		j := 0
		for ; j+64 <= s.n; j += 64 {
			gemm1x64(s.k, at(pa, i*a.row), a.col*4, at(pb, j), b.row*4, at(pc, i*c.row+j), ad)
		}

		for ; j < s.n; j += 16 {
			gemm1x16(s.k, at(pa, i*a.row), a.col*4, at(pb, j), b.row*4, at(pc, i*c.row+j), ad)
		}
	}
}

// expRow replaces x by exp(x−shift) and returns the sum. len(x) must be a multiple of 8.
func expRow(x []float32, shift float32) float32 {
	if !vectors {
		return expRowPortable(x, shift)
	}

	return exp8(&x[0], len(x), shift)
}

// biasMax computes x = x·scale + bias[rel] and returns the largest element. len(x) must be a multiple of 8.
func biasMax(x []float32, rel []uint8, bias []float32, scale float32) float32 {
	if !vectors {
		return biasMaxPortable(x, rel, bias, scale)
	}

	return biasMax8(&x[0], &rel[0], &bias[0], len(x), scale)
}

// scaleRow multiplies a row by a factor. len(x) must be a multiple of 8.
func scaleRow(x []float32, by float32) {
	if !vectors {
		scaleRowPortable(x, by)
		return
	}

	scale8(&x[0], len(x), by)
}

// relu replaces negative values by 0. len(x) must be a multiple of 8.
func relu(x []float32) {
	if !vectors {
		reluPortable(x)
		return
	}

	relu8(&x[0], len(x))
}

// sumSquares returns the sum of the squares of a row. len(x) must be a multiple of 8.
func sumSquares(x []float32) float32 {
	if !vectors {
		return sumSquaresPortable(x)
	}

	return sumSquares8(&x[0], len(x))
}

// mulGain computes out = x·by·gain. len(x) must be a multiple of 8.
func mulGain(out, x, gain []float32, by float32) {
	if !vectors {
		mulGainPortable(out, x, gain, by)
		return
	}

	mulGain8(&out[0], &x[0], &gain[0], len(x), by)
}

// addTo computes x += y. len(x) must be a multiple of 8.
func addTo(x, y []float32) {
	if !vectors {
		addToPortable(x, y)
		return
	}

	add8(&x[0], &y[0], len(x))
}

// keepPositive sets x to 0 where by is not positive. len(x) must be a multiple of 8.
func keepPositive(x, by []float32) {
	if !vectors {
		keepPositivePortable(x, by)
		return
	}

	keepPositive8(&x[0], &by[0], len(x))
}

// addScaled computes x += y·by. len(x) must be a multiple of 8.
func addScaled(x, y []float32, by float32) {
	if !vectors {
		addScaledPortable(x, y, by)
		return
	}

	addScaled8(&x[0], &y[0], len(x), by)
}

// normBack computes dgain += dy·x·inv and dx += dy·gain·inv − x·s. len(x) must be a multiple of 8.
func normBack(dx, dgain, dy, x, gain []float32, inv, s float32) {
	if !vectors {
		normBackPortable(dx, dgain, dy, x, gain, inv, s)
		return
	}

	normBack8(&dx[0], &dgain[0], &dy[0], &x[0], &gain[0], len(x), inv, s)
}

// adam updates the parameters w by the gradient g and the moments m and v, see Adam.step.
func adam(w, g, m, v []float32, rates adamRates) {
	n := 0
	if vectors {
		n = len(w) &^ 7
		adam8(&w[0], &g[0], &m[0], &v[0], n, rates.scale, rates.decay, rates.c1, rates.c2)
	}

	adamPortable(w[n:], g[n:], m[n:], v[n:], rates)
}
