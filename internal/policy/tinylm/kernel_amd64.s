//go:build amd64

#include "textflag.h"

// func gemm6x16(k int, a *float32, ars, acs int, b *float32, ldb int, c *float32, ldc int, add int)
// Six rows by sixteen columns of C = (C +) A*B. Strides are in bytes; A is read by broadcast, so any strides serve.
TEXT ·gemm6x16(SB), NOSPLIT, $0-72
	MOVQ k+0(FP), CX
	MOVQ a+8(FP), SI
	MOVQ ars+16(FP), R8
	MOVQ acs+24(FP), R9
	MOVQ b+32(FP), DI
	MOVQ ldb+40(FP), R10
	MOVQ c+48(FP), DX
	MOVQ ldc+56(FP), R11
	MOVQ add+64(FP), R12
	LEAQ (R8)(R8*2), R13  // 3*ars
	LEAQ (SI)(R13*1), BX  // rows 3..5
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	VXORPS Y12, Y12, Y12
	VXORPS Y13, Y13, Y13
	VXORPS Y14, Y14, Y14
	VXORPS Y15, Y15, Y15
	TESTQ CX, CX
	JZ   store6
loop6:
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VBROADCASTSS (SI), Y2
	VBROADCASTSS (SI)(R8*1), Y3
	VFMADD231PS Y0, Y2, Y4
	VFMADD231PS Y1, Y2, Y5
	VFMADD231PS Y0, Y3, Y6
	VFMADD231PS Y1, Y3, Y7
	VBROADCASTSS (SI)(R8*2), Y2
	VBROADCASTSS (BX), Y3
	VFMADD231PS Y0, Y2, Y8
	VFMADD231PS Y1, Y2, Y9
	VFMADD231PS Y0, Y3, Y10
	VFMADD231PS Y1, Y3, Y11
	VBROADCASTSS (BX)(R8*1), Y2
	VBROADCASTSS (BX)(R8*2), Y3
	VFMADD231PS Y0, Y2, Y12
	VFMADD231PS Y1, Y2, Y13
	VFMADD231PS Y0, Y3, Y14
	VFMADD231PS Y1, Y3, Y15
	ADDQ R9, SI
	ADDQ R9, BX
	ADDQ R10, DI
	DECQ CX
	JNZ  loop6
store6:
	TESTQ R12, R12
	JZ   plain6
	MOVQ DX, AX
	VADDPS (AX), Y4, Y4
	VADDPS 32(AX), Y5, Y5
	ADDQ R11, AX
	VADDPS (AX), Y6, Y6
	VADDPS 32(AX), Y7, Y7
	ADDQ R11, AX
	VADDPS (AX), Y8, Y8
	VADDPS 32(AX), Y9, Y9
	ADDQ R11, AX
	VADDPS (AX), Y10, Y10
	VADDPS 32(AX), Y11, Y11
	ADDQ R11, AX
	VADDPS (AX), Y12, Y12
	VADDPS 32(AX), Y13, Y13
	ADDQ R11, AX
	VADDPS (AX), Y14, Y14
	VADDPS 32(AX), Y15, Y15
plain6:
	VMOVUPS Y4, (DX)
	VMOVUPS Y5, 32(DX)
	ADDQ R11, DX
	VMOVUPS Y6, (DX)
	VMOVUPS Y7, 32(DX)
	ADDQ R11, DX
	VMOVUPS Y8, (DX)
	VMOVUPS Y9, 32(DX)
	ADDQ R11, DX
	VMOVUPS Y10, (DX)
	VMOVUPS Y11, 32(DX)
	ADDQ R11, DX
	VMOVUPS Y12, (DX)
	VMOVUPS Y13, 32(DX)
	ADDQ R11, DX
	VMOVUPS Y14, (DX)
	VMOVUPS Y15, 32(DX)
	VZEROUPPER
	RET

// func gemm1x16(k int, a *float32, acs int, b *float32, ldb int, c *float32, add int)
// One row of the same product: the same order of fused multiply-adds, so the same bits as a row of gemm6x16.
TEXT ·gemm1x16(SB), NOSPLIT, $0-56
	MOVQ k+0(FP), CX
	MOVQ a+8(FP), SI
	MOVQ acs+16(FP), R9
	MOVQ b+24(FP), DI
	MOVQ ldb+32(FP), R10
	MOVQ c+40(FP), DX
	MOVQ add+48(FP), R12
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	TESTQ CX, CX
	JZ   store1
loop1:
	VBROADCASTSS (SI), Y2
	VFMADD231PS (DI), Y2, Y4
	VFMADD231PS 32(DI), Y2, Y5
	ADDQ R9, SI
	ADDQ R10, DI
	DECQ CX
	JNZ  loop1
store1:
	TESTQ R12, R12
	JZ   plain1
	VADDPS (DX), Y4, Y4
	VADDPS 32(DX), Y5, Y5
plain1:
	VMOVUPS Y4, (DX)
	VMOVUPS Y5, 32(DX)
	VZEROUPPER
	RET

// func gemm1x64(k int, a *float32, acs int, b *float32, ldb int, c *float32, add int)
// One row by 64 columns: eight independent chains, which hides the latency that bounds gemm1x16.
TEXT ·gemm1x64(SB), NOSPLIT, $0-56
	MOVQ k+0(FP), CX
	MOVQ a+8(FP), SI
	MOVQ acs+16(FP), R9
	MOVQ b+24(FP), DI
	MOVQ ldb+32(FP), R10
	MOVQ c+40(FP), DX
	MOVQ add+48(FP), R12
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	TESTQ CX, CX
	JZ   store64
loop64:
	VBROADCASTSS (SI), Y2
	VFMADD231PS (DI), Y2, Y4
	VFMADD231PS 32(DI), Y2, Y5
	VFMADD231PS 64(DI), Y2, Y6
	VFMADD231PS 96(DI), Y2, Y7
	VFMADD231PS 128(DI), Y2, Y8
	VFMADD231PS 160(DI), Y2, Y9
	VFMADD231PS 192(DI), Y2, Y10
	VFMADD231PS 224(DI), Y2, Y11
	ADDQ R9, SI
	ADDQ R10, DI
	DECQ CX
	JNZ  loop64
store64:
	TESTQ R12, R12
	JZ   plain64
	VADDPS (DX), Y4, Y4
	VADDPS 32(DX), Y5, Y5
	VADDPS 64(DX), Y6, Y6
	VADDPS 96(DX), Y7, Y7
	VADDPS 128(DX), Y8, Y8
	VADDPS 160(DX), Y9, Y9
	VADDPS 192(DX), Y10, Y10
	VADDPS 224(DX), Y11, Y11
plain64:
	VMOVUPS Y4, (DX)
	VMOVUPS Y5, 32(DX)
	VMOVUPS Y6, 64(DX)
	VMOVUPS Y7, 96(DX)
	VMOVUPS Y8, 128(DX)
	VMOVUPS Y9, 160(DX)
	VMOVUPS Y10, 192(DX)
	VMOVUPS Y11, 224(DX)
	VZEROUPPER
	RET

DATA expc<>+0(SB)/4, $-87.0
DATA expc<>+4(SB)/4, $1.44269504
DATA expc<>+8(SB)/4, $-0.693359375
DATA expc<>+12(SB)/4, $2.12194440e-4
DATA expc<>+16(SB)/4, $1.9875691500e-4
DATA expc<>+20(SB)/4, $1.3981999507e-3
DATA expc<>+24(SB)/4, $8.3334519073e-3
DATA expc<>+28(SB)/4, $4.1665795894e-2
DATA expc<>+32(SB)/4, $1.6666665459e-1
DATA expc<>+36(SB)/4, $5.0000001201e-1
DATA expc<>+40(SB)/4, $1.0
DATA expc<>+44(SB)/4, $127
GLOBL expc<>(SB), RODATA, $48

// func exp8(x *float32, n int, shift float32) float32
// x[i] = exp(x[i]-shift) for n (a multiple of 8) values with x <= shift; returns the sum of the results.
// Range reduction and polynomial after Cephes expf; lanes are added in a fixed order.
TEXT ·exp8(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS shift+16(FP), Y15
	VBROADCASTSS expc<>+0(SB), Y14
	VBROADCASTSS expc<>+4(SB), Y13
	VBROADCASTSS expc<>+8(SB), Y12
	VBROADCASTSS expc<>+12(SB), Y11
	VBROADCASTSS expc<>+16(SB), Y10
	VBROADCASTSS expc<>+40(SB), Y9
	VBROADCASTSS expc<>+44(SB), Y8
	VXORPS Y7, Y7, Y7
expl:
	VMOVUPS (SI), Y0
	VSUBPS Y15, Y0, Y0
	VMAXPS Y14, Y0, Y0
	VMULPS Y13, Y0, Y1
	VROUNDPS $0, Y1, Y1
	VFMADD231PS Y12, Y1, Y0
	VFMADD231PS Y11, Y1, Y0
	VMOVAPS Y10, Y2
	VBROADCASTSS expc<>+20(SB), Y3
	VFMADD213PS Y3, Y0, Y2
	VBROADCASTSS expc<>+24(SB), Y3
	VFMADD213PS Y3, Y0, Y2
	VBROADCASTSS expc<>+28(SB), Y3
	VFMADD213PS Y3, Y0, Y2
	VBROADCASTSS expc<>+32(SB), Y3
	VFMADD213PS Y3, Y0, Y2
	VBROADCASTSS expc<>+36(SB), Y3
	VFMADD213PS Y3, Y0, Y2
	VMULPS Y0, Y0, Y3
	VFMADD213PS Y0, Y3, Y2
	VADDPS Y9, Y2, Y2
	VCVTPS2DQ Y1, Y1
	VPADDD Y8, Y1, Y1
	VPSLLD $23, Y1, Y1
	VMULPS Y1, Y2, Y2
	VMOVUPS Y2, (SI)
	VADDPS Y2, Y7, Y7
	ADDQ $32, SI
	SUBQ $8, CX
	JG   expl
	VEXTRACTF128 $1, Y7, X0
	VADDPS X0, X7, X7
	VHADDPS X7, X7, X7
	VHADDPS X7, X7, X7
	MOVSS X7, ret+24(FP)
	VZEROUPPER
	RET

// func biasMax8(x *float32, rel *uint8, bias *float32, n int, scale float32) float32
// x[i] = x[i]*scale + bias[rel[i]] for n (a multiple of 8, at least 8) values; returns the largest.
TEXT ·biasMax8(SB), NOSPLIT, $0-44
	MOVQ x+0(FP), SI
	MOVQ rel+8(FP), DI
	MOVQ bias+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTSS scale+32(FP), Y7
	VMOVUPS (SI), Y6
	VPCMPEQD Y8, Y8, Y8
	MOVQ $0, R8
bm:
	VPMOVZXBD (DI), Y1
	VMOVAPS Y8, Y3
	VGATHERDPS Y3, (DX)(Y1*4), Y2
	VMOVUPS (SI), Y0
	VFMADD231PS Y7, Y0, Y2
	VMOVUPS Y2, (SI)
	TESTQ R8, R8
	JNZ  bmmax
	VMOVAPS Y2, Y6
	MOVQ $1, R8
bmmax:
	VMAXPS Y2, Y6, Y6
	ADDQ $32, SI
	ADDQ $8, DI
	SUBQ $8, CX
	JG   bm
	VEXTRACTF128 $1, Y6, X0
	VMAXPS X0, X6, X6
	VPERMILPS $0x4e, X6, X0
	VMAXPS X0, X6, X6
	VPERMILPS $0xb1, X6, X0
	VMAXPS X0, X6, X6
	MOVSS X6, ret+40(FP)
	VZEROUPPER
	RET

// func scale8(x *float32, n int, by float32)
// x[i] *= by for n (a multiple of 8) values.
TEXT ·scale8(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS by+16(FP), Y7
sc:
	VMULPS (SI), Y7, Y0
	VMOVUPS Y0, (SI)
	ADDQ $32, SI
	SUBQ $8, CX
	JG   sc
	VZEROUPPER
	RET

// func relu8(x *float32, n int)
// x[i] = max(x[i], 0) for n (a multiple of 8) values.
TEXT ·relu8(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VXORPS Y7, Y7, Y7
re:
	VMAXPS (SI), Y7, Y0
	VMOVUPS Y0, (SI)
	ADDQ $32, SI
	SUBQ $8, CX
	JG   re
	VZEROUPPER
	RET

// func sumSquares8(x *float32, n int) float32
// The sum of squares of n (a multiple of 8) values, lanes added in a fixed order.
TEXT ·sumSquares8(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VXORPS Y7, Y7, Y7
sq:
	VMOVUPS (SI), Y0
	VFMADD231PS Y0, Y0, Y7
	ADDQ $32, SI
	SUBQ $8, CX
	JG   sq
	VEXTRACTF128 $1, Y7, X0
	VADDPS X0, X7, X7
	VHADDPS X7, X7, X7
	VHADDPS X7, X7, X7
	MOVSS X7, ret+16(FP)
	VZEROUPPER
	RET

// func mulGain8(out, x, gain *float32, n int, by float32)
// out[i] = x[i]*by*gain[i] for n (a multiple of 8) values.
TEXT ·mulGain8(SB), NOSPLIT, $0-36
	MOVQ out+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ gain+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTSS by+32(FP), Y7
mg:
	VMULPS (SI), Y7, Y0
	VMULPS (DX), Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, DI
	SUBQ $8, CX
	JG   mg
	VZEROUPPER
	RET

// func add8(x, y *float32, n int)
// x[i] += y[i] for n (a multiple of 8) values.
TEXT ·add8(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), DI
	MOVQ y+8(FP), SI
	MOVQ n+16(FP), CX
ad:
	VMOVUPS (DI), Y0
	VADDPS (SI), Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JG   ad
	VZEROUPPER
	RET

// func keepPositive8(x, by *float32, n int)
// x[i] = 0 where by[i] <= 0, for n (a multiple of 8) values.
TEXT ·keepPositive8(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), DI
	MOVQ by+8(FP), SI
	MOVQ n+16(FP), CX
	VXORPS Y7, Y7, Y7
kp:
	VMOVUPS (SI), Y0
	VCMPPS $0x16, Y7, Y0, Y0 // not <=
	VANDPS (DI), Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JG   kp
	VZEROUPPER
	RET

// func addScaled8(x, y *float32, n int, by float32)
// x[i] += y[i]*by for n (a multiple of 8) values; the product is rounded.
TEXT ·addScaled8(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), DI
	MOVQ y+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS by+24(FP), Y7
as:
	VMULPS (SI), Y7, Y0
	VADDPS (DI), Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JG   as
	VZEROUPPER
	RET

// func normBack8(dx, dgain, dy, x, gain *float32, n int, inv, s float32)
// dgain[i] += dy[i]*x[i]*inv and dx[i] += dy[i]*gain[i]*inv - x[i]*s for n (a multiple of 8) values; every product is
// rounded.
TEXT ·normBack8(SB), NOSPLIT, $0-56
	MOVQ dx+0(FP), DI
	MOVQ dgain+8(FP), DX
	MOVQ dy+16(FP), SI
	MOVQ x+24(FP), R8
	MOVQ gain+32(FP), R9
	MOVQ n+40(FP), CX
	VBROADCASTSS inv+48(FP), Y7
	VBROADCASTSS s+52(FP), Y6
	XORQ AX, AX
nb:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (R8)(AX*1), Y1
	VMULPS Y1, Y0, Y2
	VMULPS Y7, Y2, Y2
	VADDPS (DX)(AX*1), Y2, Y2
	VMOVUPS Y2, (DX)(AX*1)
	VMULPS (R9)(AX*1), Y0, Y0
	VMULPS Y7, Y0, Y0
	VMULPS Y6, Y1, Y1
	VSUBPS Y1, Y0, Y0
	VADDPS (DI)(AX*1), Y0, Y0
	VMOVUPS Y0, (DI)(AX*1)
	ADDQ $32, AX
	SUBQ $8, CX
	JG   nb
	VZEROUPPER
	RET

DATA adamc<>+0(SB)/4, $0.9
DATA adamc<>+4(SB)/4, $0.1
DATA adamc<>+8(SB)/4, $0.98
DATA adamc<>+12(SB)/4, $0.02
DATA adamc<>+16(SB)/4, $1e-8
GLOBL adamc<>(SB), RODATA, $20

// func adam8(w, grad, m, v *float32, n int, scale, decay, c1, c2 float32)
// The update of Adam.step for n (a multiple of 8) parameters; every product is rounded.
TEXT ·adam8(SB), NOSPLIT, $0-56
	MOVQ w+0(FP), DI
	MOVQ grad+8(FP), SI
	MOVQ m+16(FP), R8
	MOVQ v+24(FP), R9
	MOVQ n+32(FP), CX
	VBROADCASTSS scale+40(FP), Y15
	VBROADCASTSS decay+44(FP), Y14
	VBROADCASTSS c1+48(FP), Y13
	VBROADCASTSS c2+52(FP), Y12
	VBROADCASTSS adamc<>+0(SB), Y11
	VBROADCASTSS adamc<>+4(SB), Y10
	VBROADCASTSS adamc<>+8(SB), Y9
	VBROADCASTSS adamc<>+12(SB), Y8
	VBROADCASTSS adamc<>+16(SB), Y7
	VXORPS Y6, Y6, Y6
	XORQ AX, AX
ada:
	VMULPS (SI)(AX*1), Y15, Y0     // x = g*scale
	VMULPS (R8)(AX*1), Y11, Y1     // m = 0.9*m + 0.1*x
	VMULPS Y0, Y10, Y2
	VADDPS Y2, Y1, Y1
	VMOVUPS Y1, (R8)(AX*1)
	VMULPS (R9)(AX*1), Y9, Y2      // v = 0.98*v + (0.02*x)*x
	VMULPS Y0, Y8, Y3
	VMULPS Y0, Y3, Y3
	VADDPS Y3, Y2, Y2
	VMOVUPS Y2, (R9)(AX*1)
	VCMPPS $0x04, Y6, Y1, Y5       // m != 0
	VTESTPS Y5, Y5
	JZ   same
	VMULPS Y12, Y2, Y2             // w*decay - (c1*m)/(sqrt(v*c2)+eps)
	VSQRTPS Y2, Y2
	VADDPS Y7, Y2, Y2
	VMULPS Y13, Y1, Y1
	VDIVPS Y2, Y1, Y1
	VMOVUPS (DI)(AX*1), Y3
	VMULPS Y14, Y3, Y4
	VSUBPS Y1, Y4, Y4
	VBLENDVPS Y5, Y4, Y3, Y3
	VMOVUPS Y3, (DI)(AX*1)
same:
	ADDQ $32, AX
	SUBQ $8, CX
	JG   ada
	VZEROUPPER
	RET

// func fmaPeak(n int) float32
// n rounds of twelve independent fused multiply-adds of eight lanes: the peak that benchmarks compare with.
TEXT ·fmaPeak(SB), NOSPLIT, $0-12
	MOVQ n+0(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	VXORPS Y12, Y12, Y12
	VXORPS Y13, Y13, Y13
	VXORPS Y14, Y14, Y14
	VXORPS Y15, Y15, Y15
peak:
	VFMADD231PS Y0, Y1, Y4
	VFMADD231PS Y0, Y1, Y5
	VFMADD231PS Y0, Y1, Y6
	VFMADD231PS Y0, Y1, Y7
	VFMADD231PS Y0, Y1, Y8
	VFMADD231PS Y0, Y1, Y9
	VFMADD231PS Y0, Y1, Y10
	VFMADD231PS Y0, Y1, Y11
	VFMADD231PS Y0, Y1, Y12
	VFMADD231PS Y0, Y1, Y13
	VFMADD231PS Y0, Y1, Y14
	VFMADD231PS Y0, Y1, Y15
	DECQ CX
	JNZ  peak
	MOVSS X4, ret+8(FP)
	VZEROUPPER
	RET
