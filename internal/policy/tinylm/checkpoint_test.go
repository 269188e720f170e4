package tinylm

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCheckpointsRoundTripAndRefuseDamage(t *testing.T) {
	m := New(DefaultConfig, 9)
	b := m.Encode()
	got, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}

	if !slices.Equal(got.Flat, m.Flat) {
		t.Error("the parameters that Decode returns differ, want those that were encoded")
	}

	if !bytes.Equal(got.Encode(), b) {
		t.Error("the bytes encoded again differ, want the same")
	}

	if got, want := got.TensorDigest(), m.TensorDigest(); got != want {
		t.Errorf("TensorDigest() = %s, want %s", got, want)
	}

	for _, bad := range [][]byte{nil, b[:7], b[:100], b[:len(b)-1], append(slices.Clone(b), 0)} {
		if _, err := Decode(bad); !errors.Is(err, ErrCheckpoint) {
			t.Errorf("Decode of %d bytes = %v, want ErrCheckpoint", len(bad), err)
		}
	}
}

func TestTrainingResumedFromOptimiserStateIsTheSameBits(t *testing.T) {
	batches := func(n int) (out [][]Example) {
		r := rand.New(rand.NewPCG(3, 3))
		for range n {
			var b []Example
			for range 8 {
				p, c := toyTask(r)
				b = append(b, Example{p, []Choice{c}})
			}
			out = append(out, b)
		}

		return out
	}

	bs := batches(6)
	whole := &Trainer{M: New(DefaultConfig, 2)}
	for _, b := range bs {
		whole.SFTStep(b, nil, 1e-3)
	}

	half := &Trainer{M: New(DefaultConfig, 2)}
	for _, b := range bs[:3] {
		half.SFTStep(b, nil, 1e-3)
	}

	m, err := Decode(half.M.Encode())
	if err != nil {
		t.Fatal(err)
	}

	opt, err := DecodeAdam(half.Opt.Encode(), len(m.Flat))
	if err != nil {
		t.Fatal(err)
	}

	rest := &Trainer{M: m, Opt: opt}
	for _, b := range bs[3:] {
		rest.SFTStep(b, nil, 1e-3)
	}

	if got, want := rest.M.TensorDigest(), whole.M.TensorDigest(); got != want {
		t.Fatalf("a resumed training ends with %s, want %s", got, want)
	}
}
