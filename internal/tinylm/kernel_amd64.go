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

var useAsm = cpu.X86.HasAVX2 && cpu.X86.HasFMA && os.Getenv("COLLABUI_KERNEL") != "portable"

// Kernel names the arithmetic in use. Bits are promised equal only between runs with the same kernel, so checkpoints carry it.
func Kernel() string {
	if useAsm {
		return "avx2-6x16"
	}
	return "portable"
}

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

func expRow(x []float32, shift float32) float32 {
	if !useAsm {
		return expRowPortable(x, shift)
	}
	return exp8(&x[0], len(x), shift)
}
