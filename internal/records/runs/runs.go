// Package runs defines the records that a run leaves in the store: the types of its objects, their keys, and every way
// to read them.
package runs

import (
	"fmt"

	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/store"
)

// Policy identifies one agent's parameters.
type Policy struct {
	Digest string `json:"digest"`        // digest of the checkpoint blob
	Tensor string `json:"tensor_digest"` // digest of the parameters alone
}

// System is the n policies that are rolled out, evaluated and promoted together.
type System struct {
	Version  int      `json:"version"` // the epoch that made it; 0 stands for n copies of the base policy
	Policies []Policy `json:"policies"`
}

// Digests returns the digests of the policies, by agent.
func (s System) Digests() []string {
	out := make([]string, len(s.Policies))
	for i, policy := range s.Policies {
		out[i] = policy.Digest
	}

	return out
}

// Tasks names tasks of an evaluation that do not belong to a split.
type Tasks struct {
	Tasks store.Ref `json:"tasks"` // a blob: JSON list of tasks
}

// GateRecord is the verdict of a gate, and its basis.
type GateRecord struct {
	Against string `json:"against"` // RUN@EPOCH of the accepted system
	Epoch   int    `json:"epoch"`   // of this run, whose system was compared; 0 if there was none to compare
	retrain.Evidence
	retrain.Verdict
	Results []Result `json:"results"` // of both systems by group
}

// End is the result of a run.
type End struct {
	Epoch   store.Ref   `json:"epoch"` // the last commit
	Best    int         `json:"best"`  // the epoch with the highest rate on val; if equal, the first
	Results []Result    `json:"results"`
	Curve   []EvalPoint `json:"curve"` // val by epoch, from 0

	FinalDigest string `json:"final_digest"`
}

// BestOnVal describes how good an epoch is on val among all epochs, including the base, by the curve of val.
func BestOnVal(epoch int, curve []EvalPoint) string {
	rate := 0.0
	base := 0.0
	measured := false
	for _, evalPoint := range curve {
		switch evalPoint.At {
		case epoch:
			rate = evalPoint.Rate
		case 0:
			base = evalPoint.Rate
			measured = true
		}
	}
	switch {
	case epoch == 0:
		return "none was switched to"
	case measured && base >= rate:
		return fmt.Sprintf("the best epoch on val with %.1f %%, where the base has %.1f %%: "+
			"training gained nothing there", 100*rate, 100*base)
	}

	return "the best on val"
}
