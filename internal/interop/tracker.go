package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/collabui/collabui/internal/method/spec"
)

// Tracker is a server that tracks experiments, with one run of this program. All calls may be repeated, also by another
// process: what the server has already is not written again.
type Tracker interface {
	// Begin finds the run on the server or creates it, and records its parameters. It returns the names of those of all
	// batches of the run that the server has in full.
	Begin(ctx context.Context, run string, params map[string]string, all []Batch) (map[string]bool, error)

	// Log records a batch of values, each at its step.
	Log(ctx context.Context, b Batch) error

	// End records that the run has ended.
	End(ctx context.Context) error
}

// Batch is a part of a run's figures that is complete and never changes. Its name is unique in the run.
type Batch struct {
	Name   string
	Points []Point
}

// Batches returns what a tracker is to have: the base policy, each committed epoch, and at the end of the run the
// results of all evaluations.
func (r Records) Batches() []Batch {
	var out []Batch
	if base, ok := r.base(); ok {
		out = append(out, Batch{"base", []Point{{Figure: valSuccess, Agent: NoAgent, Value: base.Rate}}})
	}
	points := r.Curves()
	for _, c := range r.Epochs {
		b := Batch{Name: fmt.Sprintf("epoch-%04d", c.Number)}
		for _, p := range points {
			if p.Epoch == c.Number {
				b.Points = append(b.Points, p)
			}
		}
		out = append(out, b)
	}
	if r.Ended {
		b := Batch{Name: "results"}
		for _, e := range r.Results {
			b.Points = append(b.Points, Point{
				Figure: Figure{Name: "result/" + e.name() + "/" + e.Split},
				Epoch:  e.Epoch, Step: e.Epoch, Agent: NoAgent, Value: e.Rate,
			})
		}
		out = append(out, b)
	}

	return out
}

// Params returns the keys of a specification as a tracker shows them, such as train.beta. The addresses of models and
// the texts of prompts are left out.
func Params(s spec.Spec) (map[string]string, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	delete(all, "models")
	delete(all, "prompts")
	out := map[string]string{}
	flatten(out, "", all)

	return out, nil
}

func flatten(out map[string]string, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			if name != "" {
				key = name + "." + key
			}
			flatten(out, key, below)
		}
	case string:
		out[name] = v
	case float64:
		out[name] = strconv.FormatFloat(v, 'g', -1, 64)
	default:
		raw, _ := json.Marshal(v) // it came from JSON
		out[name] = string(raw)
	}
}
