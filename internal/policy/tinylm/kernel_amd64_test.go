package tinylm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/collabui/collabui/internal/method/preference"
)

// trainedDigest returns a digest of a model after steps of SFT and of preference optimisation, and of sampled answers.
func trainedDigest(t *testing.T) string {
	t.Helper()
	r := rand.New(rand.NewPCG(21, 22))
	tr := Trainer{M: New(DefaultConfig, 4), Workers: 2}
	long := newWork().batch
	for i := range 8 {
		batch := append([]Example(nil), long[i:i+3]...)
		for range 7 + i {
			p, c := toyTask(r)
			batch = append(batch, Example{p, []Choice{c}})
		}
		tr.SFTStep(batch, nil, 3e-3)
	}

	var pairs []Example
	for range 9 {
		p, right := toyTask(r)
		wrong := right
		for wrong.Elem == right.Elem {
			wrong.Elem = p.Index[r.IntN(len(p.Index))].Pos
		}
		pairs = append(pairs, Example{p, []Choice{right, wrong}})
	}
	weight := make([]float64, len(pairs))
	for i := range weight {
		weight[i] = 1
	}
	rule := preference.Rule{Beta: 0.5}
	for range 3 {
		tr.DPOStep(pairs, tr.M.LogProbs(pairs, 2), weight, 1e-3, rule)
	}

	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, tr.M.Flat); err != nil {
		t.Fatal(err)
	}
	pol := NewPolicy(tr.M)
	for _, e := range pairs {
		outs, _ := pol.Sample(e.Prompt, Sampling{N: 2, Temperature: 1, TopP: 1, Seed: 5})
		for _, o := range outs {
			if err := binary.Write(h, binary.LittleEndian, o.LogProb); err != nil {
				t.Fatal(err)
			}
		}
	}

	return hex.EncodeToString(h.Sum(nil))[:16]
}

// TestTheBitsOfAKernelNeverChange trains and samples with every kernel that this processor supports. A change of a
// digest would change every published digest and every run in progress, so a kernel with other bits needs a new name.
func TestTheBitsOfAKernelNeverChange(t *testing.T) {
	old := vectors
	defer func() { vectors = old }()
	want := map[string]string{"avx2-6x16": "6547dfd5629fc242", "portable": "b93f6d3c91d5eb42"}
	for _, use := range []bool{false, true} {
		if use && !vectorised("") {
			t.Log("this processor lacks AVX2 and FMA")
			continue
		}
		vectors = use
		if got := trainedDigest(t); got != want[Kernel()] {
			t.Errorf("the digest of %s is %s, want %s", Kernel(), got, want[Kernel()])
		}
	}
}

func TestThePortableKernelCanBeChosen(t *testing.T) {
	if vectorised("portable") {
		t.Error("COLLABUI_KERNEL=portable uses vectors, want none")
	}
}
