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
func gemm6x64(k int, a *float32, ars, acs int, b *float32, ldb int, c *float32, ldc int, add int)

//go:noescape
func gemm6x32(k int, a *float32, ars, acs int, b *float32, ldb int, c *float32, ldc int, add int)

//go:noescape
func gemm12x16(k int, a *float32, ars, acs int, b *float32, ldb int, c *float32, ldc int, add int)

//go:noescape
func gemm1x16(k int, a *float32, acs int, b *float32, ldb int, c *float32, add int)

//go:noescape
func gemm1x64(k int, a *float32, acs int, b *float32, ldb int, c *float32, add int)

//go:noescape
func exp8(x *float32, n int, shift float32) float32

//go:noescape
func fmaPeak(n int) float32

//go:noescape
func fmaPeak16(n int) float32

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

// lanes is the width of the vectors in use: 16 (AVX-512), 8 (AVX2) or 0. Both widths give the same bits.
// COLLABUI_KERNEL=portable uses none, COLLABUI_KERNEL=avx2 at most 8.
var lanes = widest(os.Getenv("COLLABUI_KERNEL"))

func widest(kernel string) int {
	switch {
	case kernel == "portable" || !cpu.X86.HasAVX2 || !cpu.X86.HasFMA:
		return 0
	case kernel == "avx2" || !cpu.X86.HasAVX512F:
		return 8
	}

	return 16
}

// Kernel returns the name of the arithmetic in use. Bits are equal only between runs with the same kernel, so
// checkpoints carry its name.
func Kernel() string {
	if lanes > 0 {
		return "avx2-6x16"
	}

	return "portable"
}

// gemmFast is gemmPortable with vector kernels: blocks of rows, then single rows.
func gemmFast(m, n, k int, a []float32, ars, acs int, b []float32, ldb int, c []float32, ldc int, add bool) {
	if m == 0 || n == 0 {
		return
	}

	if lanes == 0 {
		gemmPortable(m, n, k, a, ars, acs, b, ldb, c, ldc, add)
		return
	}

	ad := 0
	if add {
		ad = 1
	}

	pa, pb, pc := unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&c[0])
	at := func(p unsafe.Pointer, i int) *float32 { return (*float32)(unsafe.Add(p, i*4)) }
	i := 0
	for ; n == 16 && lanes == 16 && i+12 <= m; i += 12 { // a head of attention
		gemm12x16(k, at(pa, i*ars), ars*4, acs*4, &b[0], ldb*4, at(pc, i*ldc), ldc*4, ad)
	}
	for ; i+6 <= m; i += 6 {
		for j, cols := 0, 0; j < n; j += cols {
			f := gemm6x16
			switch cols = 16; {
			case lanes == 16 && n-j >= 64:
				f, cols = gemm6x64, 64
			case lanes == 16 && n-j >= 32:
				f, cols = gemm6x32, 32
			}
			f(k, at(pa, i*ars), ars*4, acs*4, at(pb, j), ldb*4, at(pc, i*ldc+j), ldc*4, ad)
		}
	}

	for ; i < m; i++ {
		j := 0
		for ; j+64 <= n; j += 64 {
			gemm1x64(k, at(pa, i*ars), acs*4, at(pb, j), ldb*4, at(pc, i*ldc+j), ad)
		}

		for ; j < n; j += 16 {
			gemm1x16(k, at(pa, i*ars), acs*4, at(pb, j), ldb*4, at(pc, i*ldc+j), ad)
		}
	}
}

// peakLoop runs n rounds of twelve independent fused multiply-adds of width lanes. It reports whether the kernel in use
// is as wide.
func peakLoop(width, n int) bool {
	if width == 16 && lanes == 16 {
		fmaPeak16(n)
	} else if width == 8 && lanes > 0 {
		fmaPeak(n)
	}

	return width <= lanes
}

// expRow replaces x by exp(x-shift) and returns the sum. len(x) is a multiple of 8.
func expRow(x []float32, shift float32) float32 {
	if lanes == 0 {
		return expRowPortable(x, shift)
	}

	return exp8(&x[0], len(x), shift)
}

// biasMax computes x = x*scale + bias[rel] and returns the largest. Both lengths are a multiple of 8.
func biasMax(x []float32, rel []uint8, bias []float32, scale float32) float32 {
	if lanes == 0 {
		return biasMaxPortable(x, rel, bias, scale)
	}

	return biasMax8(&x[0], &rel[0], &bias[0], len(x), scale)
}

// scaleRow multiplies a row by a factor. len(x) is a multiple of 8.
func scaleRow(x []float32, by float32) {
	if lanes == 0 {
		scaleRowPortable(x, by)
		return
	}

	scale8(&x[0], len(x), by)
}

// relu replaces negative values by 0. len(x) is a multiple of 8.
func relu(x []float32) {
	if lanes == 0 {
		reluPortable(x)
		return
	}

	relu8(&x[0], len(x))
}

// sumSquares returns the sum of the squares of a row. len(x) is a multiple of 8.
func sumSquares(x []float32) float32 {
	if lanes == 0 {
		return sumSquaresPortable(x)
	}

	return sumSquares8(&x[0], len(x))
}

// mulGain computes out = x·by·gain. len(x) is a multiple of 8.
func mulGain(out, x, gain []float32, by float32) {
	if lanes == 0 {
		mulGainPortable(out, x, gain, by)
		return
	}

	mulGain8(&out[0], &x[0], &gain[0], len(x), by)
}

// addTo computes x += y. len(x) is a multiple of 8.
func addTo(x, y []float32) {
	if lanes == 0 {
		addToPortable(x, y)
		return
	}

	add8(&x[0], &y[0], len(x))
}

// keepPositive sets x to 0 where by is at most 0. len(x) is a multiple of 8.
func keepPositive(x, by []float32) {
	if lanes == 0 {
		keepPositivePortable(x, by)
		return
	}

	keepPositive8(&x[0], &by[0], len(x))
}

// addScaled computes x += y·by. len(x) is a multiple of 8.
func addScaled(x, y []float32, by float32) {
	if lanes == 0 {
		addScaledPortable(x, y, by)
		return
	}

	addScaled8(&x[0], &y[0], len(x), by)
}

// normBack computes dgain += dy·x·inv and dx += dy·gain·inv − x·s. len(x) is a multiple of 8.
func normBack(dx, dgain, dy, x, gain []float32, inv, s float32) {
	if lanes == 0 {
		normBackPortable(dx, dgain, dy, x, gain, inv, s)
		return
	}

	normBack8(&dx[0], &dgain[0], &dy[0], &x[0], &gain[0], len(x), inv, s)
}

// adam updates w by the gradient g and the moments m and v; see Adam.step.
func adam(w, g, m, v []float32, r adamRates) {
	n := 0
	if lanes > 0 {
		n = len(w) &^ 7
		adam8(&w[0], &g[0], &m[0], &v[0], n, r.scale, r.decay, r.c1, r.c2)
	}

	adamPortable(w[n:], g[n:], m[n:], v[n:], r)
}
