//go:build amd64

#include "textflag.h"

// The products below add in the order of gemm6x16, so every cell has the same bits. Strides are in bytes; A is read by
// broadcast, so any strides serve.

// Arguments of all of them, and rows 3 to 5 and so on by their own pointers.
#define ARGS \
	MOVQ k+0(FP), CX \
	MOVQ a+8(FP), SI \
	MOVQ ars+16(FP), R8 \
	MOVQ acs+24(FP), R9 \
	MOVQ b+32(FP), DI \
	MOVQ ldb+40(FP), R10 \
	MOVQ c+48(FP), DX \
	MOVQ ldc+56(FP), R11 \
	MOVQ add+64(FP), R12 \
	LEAQ (R8)(R8*2), R13 \
	LEAQ (SI)(R13*1), BX

#define ZERO4(a, b, c, d) \
	VPXORD a, a, a \
	VPXORD b, b, b \
	VPXORD c, c, c \
	VPXORD d, d, d

// One row of 64 columns: the broadcast of A in Z4, the columns of B in Z0 to Z3.
#define ROW4(at, a, b, c, d) \
	VBROADCASTSS at, Z4 \
	VFMADD231PS Z0, Z4, a \
	VFMADD231PS Z1, Z4, b \
	VFMADD231PS Z2, Z4, c \
	VFMADD231PS Z3, Z4, d

#define ADD4(a, b, c, d) \
	VADDPS (AX), a, a \
	VADDPS 64(AX), b, b \
	VADDPS 128(AX), c, c \
	VADDPS 192(AX), d, d \
	ADDQ R11, AX

#define STORE4(a, b, c, d) \
	VMOVUPS a, (DX) \
	VMOVUPS b, 64(DX) \
	VMOVUPS c, 128(DX) \
	VMOVUPS d, 192(DX) \
	ADDQ R11, DX

// func gemm6x64(k int, a *float32, ars, acs int, b *float32, ldb int, c *float32, ldc int, add int)
TEXT ·gemm6x64(SB), NOSPLIT, $0-72
	ARGS
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ZERO4(Z16, Z17, Z18, Z19)
	ZERO4(Z20, Z21, Z22, Z23)
	ZERO4(Z24, Z25, Z26, Z27)
	ZERO4(Z28, Z29, Z30, Z31)
	TESTQ CX, CX
	JZ   store
loop:
	VMOVUPS (DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3
	ROW4((SI), Z8, Z9, Z10, Z11)
	ROW4((SI)(R8*1), Z12, Z13, Z14, Z15)
	ROW4((SI)(R8*2), Z16, Z17, Z18, Z19)
	ROW4((BX), Z20, Z21, Z22, Z23)
	ROW4((BX)(R8*1), Z24, Z25, Z26, Z27)
	ROW4((BX)(R8*2), Z28, Z29, Z30, Z31)
	ADDQ R9, SI
	ADDQ R9, BX
	ADDQ R10, DI
	DECQ CX
	JNZ  loop
store:
	TESTQ R12, R12
	JZ   plain
	MOVQ DX, AX
	ADD4(Z8, Z9, Z10, Z11)
	ADD4(Z12, Z13, Z14, Z15)
	ADD4(Z16, Z17, Z18, Z19)
	ADD4(Z20, Z21, Z22, Z23)
	ADD4(Z24, Z25, Z26, Z27)
	ADD4(Z28, Z29, Z30, Z31)
plain:
	STORE4(Z8, Z9, Z10, Z11)
	STORE4(Z12, Z13, Z14, Z15)
	STORE4(Z16, Z17, Z18, Z19)
	STORE4(Z20, Z21, Z22, Z23)
	STORE4(Z24, Z25, Z26, Z27)
	STORE4(Z28, Z29, Z30, Z31)
	VZEROUPPER
	RET

// One row of 32 columns, and of 16.
#define ROW2(at, a, b) \
	VBROADCASTSS at, Z4 \
	VFMADD231PS Z0, Z4, a \
	VFMADD231PS Z1, Z4, b

#define ADD2(a, b) \
	VADDPS (AX), a, a \
	VADDPS 64(AX), b, b \
	ADDQ R11, AX

#define STORE2(a, b) \
	VMOVUPS a, (DX) \
	VMOVUPS b, 64(DX) \
	ADDQ R11, DX

// func gemm6x32(k int, a *float32, ars, acs int, b *float32, ldb int, c *float32, ldc int, add int)
TEXT ·gemm6x32(SB), NOSPLIT, $0-72
	ARGS
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ZERO4(Z16, Z17, Z18, Z19)
	TESTQ CX, CX
	JZ   store
loop:
	VMOVUPS (DI), Z0
	VMOVUPS 64(DI), Z1
	ROW2((SI), Z8, Z9)
	ROW2((SI)(R8*1), Z10, Z11)
	ROW2((SI)(R8*2), Z12, Z13)
	ROW2((BX), Z14, Z15)
	ROW2((BX)(R8*1), Z16, Z17)
	ROW2((BX)(R8*2), Z18, Z19)
	ADDQ R9, SI
	ADDQ R9, BX
	ADDQ R10, DI
	DECQ CX
	JNZ  loop
store:
	TESTQ R12, R12
	JZ   plain
	MOVQ DX, AX
	ADD2(Z8, Z9)
	ADD2(Z10, Z11)
	ADD2(Z12, Z13)
	ADD2(Z14, Z15)
	ADD2(Z16, Z17)
	ADD2(Z18, Z19)
plain:
	STORE2(Z8, Z9)
	STORE2(Z10, Z11)
	STORE2(Z12, Z13)
	STORE2(Z14, Z15)
	STORE2(Z16, Z17)
	STORE2(Z18, Z19)
	VZEROUPPER
	RET

#define ROW1(at, a) VFMADD231PS.BCST at, Z0, a

#define ADD1(a) \
	VADDPS (AX), a, a \
	ADDQ R11, AX

#define STORE1(a) \
	VMOVUPS a, (DX) \
	ADDQ R11, DX

// func gemm12x16(k int, a *float32, ars, acs int, b *float32, ldb int, c *float32, ldc int, add int)
TEXT ·gemm12x16(SB), NOSPLIT, $0-72
	ARGS
	LEAQ (BX)(R13*1), R14 // rows 6..8
	LEAQ (R14)(R13*1), R15 // rows 9..11
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ZERO4(Z16, Z17, Z18, Z19)
	TESTQ CX, CX
	JZ   store
loop:
	VMOVUPS (DI), Z0
	ROW1((SI), Z8)
	ROW1((SI)(R8*1), Z9)
	ROW1((SI)(R8*2), Z10)
	ROW1((BX), Z11)
	ROW1((BX)(R8*1), Z12)
	ROW1((BX)(R8*2), Z13)
	ROW1((R14), Z14)
	ROW1((R14)(R8*1), Z15)
	ROW1((R14)(R8*2), Z16)
	ROW1((R15), Z17)
	ROW1((R15)(R8*1), Z18)
	ROW1((R15)(R8*2), Z19)
	ADDQ R9, SI
	ADDQ R9, BX
	ADDQ R9, R14
	ADDQ R9, R15
	ADDQ R10, DI
	DECQ CX
	JNZ  loop
store:
	TESTQ R12, R12
	JZ   plain
	MOVQ DX, AX
	ADD1(Z8)
	ADD1(Z9)
	ADD1(Z10)
	ADD1(Z11)
	ADD1(Z12)
	ADD1(Z13)
	ADD1(Z14)
	ADD1(Z15)
	ADD1(Z16)
	ADD1(Z17)
	ADD1(Z18)
	ADD1(Z19)
plain:
	STORE1(Z8)
	STORE1(Z9)
	STORE1(Z10)
	STORE1(Z11)
	STORE1(Z12)
	STORE1(Z13)
	STORE1(Z14)
	STORE1(Z15)
	STORE1(Z16)
	STORE1(Z17)
	STORE1(Z18)
	STORE1(Z19)
	VZEROUPPER
	RET

// func fmaPeak16(n int) float32
// fmaPeak with sixteen lanes.
TEXT ·fmaPeak16(SB), NOSPLIT, $0-12
	MOVQ n+0(FP), CX
	ZERO4(Z0, Z1, Z8, Z9)
	ZERO4(Z10, Z11, Z12, Z13)
	ZERO4(Z14, Z15, Z16, Z17)
	ZERO4(Z18, Z19, Z20, Z21)
peak:
	VFMADD231PS Z0, Z1, Z8
	VFMADD231PS Z0, Z1, Z9
	VFMADD231PS Z0, Z1, Z10
	VFMADD231PS Z0, Z1, Z11
	VFMADD231PS Z0, Z1, Z12
	VFMADD231PS Z0, Z1, Z13
	VFMADD231PS Z0, Z1, Z14
	VFMADD231PS Z0, Z1, Z15
	VFMADD231PS Z0, Z1, Z16
	VFMADD231PS Z0, Z1, Z17
	VFMADD231PS Z0, Z1, Z18
	VFMADD231PS Z0, Z1, Z19
	DECQ CX
	JNZ  peak
	MOVSS X8, ret+8(FP)
	VZEROUPPER
	RET
