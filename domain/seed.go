package domain

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Seed derives the random seed of a path such as ("slot", epoch, number) from a root seed: the first 8 bytes of SHA-256 over the parts. Every random
// choice of the system is drawn from such a seed, so that it does not depend on order, time or place of execution.
func Seed(root uint64, path ...any) uint64 {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d", root)
	for _, p := range path {
		_, _ = fmt.Fprintf(h, "/%v", p)
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// Rand is a generator seeded by a path.
func Rand(root uint64, path ...any) *rand.Rand {
	s := Seed(root, path...)
	return rand.New(rand.NewPCG(s, s^0x9e3779b97f4a7c15))
}
