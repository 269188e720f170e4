package verify_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// withAdversary returns a slot of epoch 2 whose first pair rejects an answer of the adversary.
func withAdversary(t *testing.T, b store.Bucket, slots int) int {
	t.Helper()
	for slot := 1; slot <= slots; slot++ {
		p, _, err := runs.Run(small).Pairs(2, slot).Must(t.Context(), b)
		if err == nil && len(p.Pairs) > 0 && p.Pairs[0].Source == domain.SourceAdversary {
			return slot
		}
	}
	t.Fatalf("none of %d slots has pairs of the adversary, want one", slots)

	return 0
}

// violations returns functions that plant violations, by the problem that must be found.
func violations(t *testing.T, b *store.Memory) map[string]func() {
	t.Helper()
	r := runs.Run(small)
	slot := withAdversary(t, b, 10)
	pairs, credits := r.Pairs(2, slot).Key, r.Credits(2, slot).Key

	return map[string]func(){
		"9 slots are committed of 10": func() {
			change(t, b, r.Epoch(1).Key, func(e *runs.Epoch) { e.Episodes = e.Episodes[1:] })
		},
		"slot 2 is committed twice": func() {
			change(t, b, r.Epoch(1).Key, func(e *runs.Epoch) { e.Episodes[0] = e.Episodes[1] })
		},
		"slot 3 has 2 episodes": func() {
			b.Damage(r.Attempt(1, 3, 2).Key, get(t, b, r.Attempt(1, 3, 1).Key))
		},
		"applied twice": func() {
			change(t, b, r.Update(2, 1).Key, func(u *runs.Update) { u.Parent = u.Policy })
		},
		"not what the epoch committed": func() {
			change(t, b, r.Update(1, 0).Key, func(u *runs.Update) { u.Policy.Digest = strings.Repeat("0", 64) })
		},
		"labelled 1": func() {
			change(t, b, credits, func(c *runs.Credits) {
				for i := range c.Steps {
					for j := range c.Steps[i].Labels {
						c.Steps[i].Labels[j] = domain.Uncertain
					}
				}
			})
		},
		"chosen is not": func() {
			change(t, b, pairs, func(p *runs.Pairs) { p.Pairs[0].Chosen = "invented" })
		},
		"rejected is in no recorded call": func() {
			change(t, b, pairs, func(p *runs.Pairs) { p.Pairs[0].Rejected = "invented" })
		},
		"another topology": func() {
			change(t, b, r.Attempt(2, 5, 1).Key, func(e *runs.Episode) { e.Topology.SHA256 = "x" })
		},
		"system version 0": func() {
			change(t, b, r.Attempt(2, 5, 1).Key, func(e *runs.Episode) { e.System = 0 })
		},
		"its digest does not follow from its steps": func() {
			change(t, b, r.Step(1, 1, 1, 1).Key, func(s *runs.Step) { s.Decision.Cells[0].Text = "other" })
		},
		"does not follow from what is stored": func() {
			change(t, b, r.Epoch(1).Key, func(e *runs.Epoch) { e.Digest = "0" })
		},
		"rolled out by another system": func() {
			change(t, b, r.Slots(2).Key, func(s *runs.Slots) { s.System.Version++ })
		},
		"kept its parent but names another policy": func() {
			change(t, b, r.Update(1, 0).Key, func(u *runs.Update) { u.Kept = "KL" })
		},
		"was served otherwise than it was trained": func() {
			change(t, b, r.Update(1, 0).Key, func(u *runs.Update) {
				u.Served = domain.Gap{Answers: 8, Mean: 0.2, Limit: 0.1}
			})
		},
		"labels another episode": func() {
			change(t, b, credits, func(c *runs.Credits) { c.Episode.SHA256 = "x" })
		},
		"was made of another episode or of other labels": func() {
			change(t, b, pairs, func(p *runs.Pairs) { p.Credit.SHA256 = "x" })
		},
		"kept the system that its updates began with but names another one": func() {
			change(t, b, r.Epoch(1).Key, func(e *runs.Epoch) { e.Kept = "val fell" })
		},
		"committed as if it were not": func() {
			change(t, b, r.Epoch(1).Key, func(e *runs.Epoch) { e.Val = nil })
		},
		"epochs/0001/made.json: the store does not show it": func() { b.Damage(r.Made(1).Key, nil) },
		"it is missing, but there is":                       func() { b.Damage(r.Base().Key, nil) },
		"final digest": func() {
			change(t, b, r.End().Key, func(e *runs.End) { e.FinalDigest = "0" })
		},
		"the epoch's episodes have": func() {
			change(t, b, r.Dataset(1, 0).Key, func(d *runs.Dataset) { d.Count-- })
		},
		"is not the one that the epoch's episodes have": func() {
			rewrite(t, b, r.Dataset(1, 0), `"chosen":"`, `"chosen":"x`)
		},
		"its body cannot be read": func() {
			rewrite(t, b, r.Dataset(1, 0), `"chosen":"`, `"chosen":x`)
		},
	}
}

// rewrite replaces a text in the body of a data set.
func rewrite(t *testing.T, b *store.Memory, o runs.Object[runs.Dataset], old, text string) {
	t.Helper()
	change(t, b, o.Key, func(d *runs.Dataset) {
		raw, err := store.GetBlob(t.Context(), b, d.Body.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		if d.Body, err = store.PutBlob(t.Context(), b, bytes.Replace(raw, []byte(old), []byte(text), 1)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestEveryPlantedViolationIsFound(t *testing.T) {
	for want := range violations(t, finished(t)) {
		t.Run(want, func(t *testing.T) {
			b := finished(t)
			violations(t, b)[want]()
			got, err := verify.Run(t.Context(), b, small)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range got {
				if strings.Contains(p.Detail, want) {
					return
				}
			}
			t.Errorf("problems %v, want one that says %q", got, want)
		})
	}
}

func TestARunWithoutViolationsHasNoProblems(t *testing.T) {
	if got, err := verify.Run(t.Context(), finished(t), small); err != nil || len(got) > 0 {
		t.Errorf("Run() = %v, %v; want no problem", got, err)
	}
}
