// Package acceptance holds every adapter to the contract of envadapters: adapters' own tests run it, and so does `collabui envs check`. It knows the contract only.
package acceptance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Report is what a check of one task saw.
type Report struct {
	Template   string   `json:"template"`
	Split      string   `json:"split"`
	Goal       string   `json:"goal"`
	Elements   int      `json:"elements"` // of the first observation
	Steps      int      `json:"steps"`    // that were played
	Replay     string   `json:"replay"`   // identical, differs, or none where the environment promises none
	Expert     string   `json:"expert"`   // solves, fails, or none
	Problems   []string `json:"problems,omitempty"`
	Screenshot []byte   `json:"-"` // of the first observation, PNG; nil: none
}

// The states of Replay and Expert.
const (
	Identical = "identical"
	Differs   = "differs"
	Solves    = "solves"
	Fails     = "fails"
	None      = "none"
)

// Suite checks what holds of a suite as a whole and gives its problems.
func Suite(ctx context.Context, s envadapters.Suite) []string {
	var out []string
	bad := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.Name() == "" || s.Title() == "" {
		bad("name %q, title %q: neither may be empty", s.Name(), s.Title())
	}
	if f := s.Family(); f != domain.FamilyMobile && f != domain.FamilyWeb {
		bad("unknown action family %q", f)
	}
	if _, err := s.Templates("no-such-split"); err == nil {
		bad("an unknown split is no error")
	}
	if len(s.Splits()) == 0 {
		bad("no splits")
	}
	trained := map[string]bool{}
	for _, split := range s.Splits() {
		ts, err := s.Templates(split)
		if err != nil {
			bad("split %s: %v", split, err)
			continue
		}
		if !slices.IsSortedFunc(ts, func(a, b envadapters.Template) int { return strings.Compare(a.Name, b.Name) }) {
			bad("the templates of split %s are not sorted", split)
		}
		for i, t := range ts {
			if i > 0 && ts[i-1].Name == t.Name {
				bad("template %s stands twice in split %s", t.Name, split)
			}
			if t.MaxSteps < 1 {
				bad("template %s of split %s has a budget of %d steps", t.Name, split, t.MaxSteps)
			}
			if split == domain.SplitTrain {
				trained[t.Name] = true
			}
			if split == domain.SplitTestTemplates && trained[t.Name] {
				bad("template %s of split test-templates is one of split train", t.Name)
			}
		}
	}
	if h := s.Check(ctx); h.State != envadapters.Ready {
		bad("not ready: %s; %s", h.Detail, h.Fix)
	}
	return out
}

// Faulty checks what must fail: a task that is not there, and a call whose context has ended.
func Faulty(ctx context.Context, s envadapters.Suite, t domain.Task) ([]string, error) {
	c := &check{suite: s, task: t}
	env, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	t.Template = "no such template"
	if _, err := env.Reset(ctx, t); !errors.Is(err, envadapters.ErrTask) {
		c.bad("a task that is not there is not at fault itself: %v", err)
	}
	env.Close(ctx)
	if env, err = s.Open(ctx); err != nil {
		return nil, err
	}
	defer env.Close(ctx)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	began := time.Now()
	if _, err := env.Reset(gone, c.task); err == nil {
		if _, err := env.Step(gone, c.noop()); err == nil {
			c.bad("calls go on although their context has ended")
		}
	}
	if d := time.Since(began); d > 5*time.Second {
		c.bad("a call whose context has ended comes back after %v", d)
	}
	return c.r.Problems, nil
}
