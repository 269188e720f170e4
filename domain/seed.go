package domain

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Seed derives a random seed from a root seed and a path such as ("slot", epoch, number): the first 8 bytes of SHA-256
// over its parts. All random choices of the system start from such a seed, so they do not depend on the order, time or
// place of execution.
func Seed(root uint64, path ...any) uint64 {
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%d", root)
	for _, part := range path {
		_, _ = fmt.Fprintf(hash, "/%v", part)
	}

	return binary.BigEndian.Uint64(hash.Sum(nil))
}

// Rand returns a generator that is seeded by Seed(root, path...).
func Rand(root uint64, path ...any) *rand.Rand {
	seed := Seed(root, path...)

	return rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15))
}
