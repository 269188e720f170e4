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

// useAsm is whether the vector kernels are used. COLLABUI_KERNEL=portable turns them off.
var useAsm = cpu.X86.HasAVX2 && cpu.X86.HasFMA && os.Getenv("COLLABUI_KERNEL") != "portable"

// Kernel returns the name of the arithmetic in use. Bits are equal only between runs with the same kernel, so
// checkpoints carry its name.
func Kernel() string {
	if useAsm {
		return "avx2-6x16"
	}

	return "portable"
}

// gemmFast is gemmPortable with vector kernels: blocks of 6×16, then rows of 64 and of 16 columns.
func gemmFast(m, n, k int, a []float32, ars, acs int, b []float32, ldb int, c []float32, ldc int, add bool) {
	if m == 0 || n == 0 {
		return
	}

	if !useAsm {
		gemmPortable(m, n, k, a, ars, acs, b, ldb, c, ldc, add)
		return
	}

	ad := 0
	if add {
		ad = 1
	}

	pa, pb, pc := unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&c[0])
	i := 0
	for ; i+6 <= m; i += 6 {
		for j := 0; j < n; j += 16 {
			gemm6x16(k, (*float32)(unsafe.Add(pa, i*ars*4)), ars*4, acs*4, (*float32)(unsafe.Add(pb, j*4)), ldb*4,
				(*float32)(unsafe.Add(pc, (i*ldc+j)*4)), ldc*4, ad)
		}
	}

	for ; i < m; i++ {
		j := 0
		for ; j+64 <= n; j += 64 {
			gemm1x64(k, (*float32)(unsafe.Add(pa, i*ars*4)), acs*4, (*float32)(unsafe.Add(pb, j*4)), ldb*4,
				(*float32)(unsafe.Add(pc, (i*ldc+j)*4)), ad)
		}

		for ; j < n; j += 16 {
			gemm1x16(k, (*float32)(unsafe.Add(pa, i*ars*4)), acs*4, (*float32)(unsafe.Add(pb, j*4)), ldb*4,
				(*float32)(unsafe.Add(pc, (i*ldc+j)*4)), ad)
		}
	}
}

func peakLoop(n int) { fmaPeak(n) }

// expRow replaces x by exp(x-shift) and returns the sum. len(x) is a multiple of 8.
func expRow(x []float32, shift float32) float32 {
	if !useAsm {
		return expRowPortable(x, shift)
	}

	return exp8(&x[0], len(x), shift)
}

// biasMax computes x = x*scale + bias[rel] and returns the largest. Both lengths are a multiple of 8.
func biasMax(x []float32, rel []uint8, bias []float32, scale float32) float32 {
	if !useAsm {
		return biasMaxPortable(x, rel, bias, scale)
	}

	return biasMax8(&x[0], &rel[0], &bias[0], len(x), scale)
}

// scaleRow multiplies a row by a factor. len(x) is a multiple of 8.
func scaleRow(x []float32, by float32) {
	if !useAsm {
		scaleRowPortable(x, by)
		return
	}

	scale8(&x[0], len(x), by)
}

// relu replaces negative values by 0. len(x) is a multiple of 8.
func relu(x []float32) {
	if !useAsm {
		reluPortable(x)
		return
	}

	relu8(&x[0], len(x))
}

// sumSquares returns the sum of the squares of a row. len(x) is a multiple of 8.
func sumSquares(x []float32) float32 {
	if !useAsm {
		return sumSquaresPortable(x)
	}

	return sumSquares8(&x[0], len(x))
}

// mulGain computes out = x·by·gain. len(x) is a multiple of 8.
func mulGain(out, x, gain []float32, by float32) {
	if !useAsm {
		mulGainPortable(out, x, gain, by)
		return
	}

	mulGain8(&out[0], &x[0], &gain[0], len(x), by)
}

// addTo computes x += y. len(x) is a multiple of 8.
func addTo(x, y []float32) {
	if !useAsm {
		addToPortable(x, y)
		return
	}

	add8(&x[0], &y[0], len(x))
}
