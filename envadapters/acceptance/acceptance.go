// Package acceptance checks that an adapter keeps the contract of envadapters. It runs in the tests of all adapters and
// in `collabui envs check`.
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

// maxReturn is the longest time within which a call must return after its context has ended.
const maxReturn = 5 * time.Second

// problems collects violations without duplicates.
type problems []string

func (p *problems) bad(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(*p, text) {
		*p = append(*p, text)
	}
}

// Suite checks a suite as a whole and returns its problems.
func Suite(ctx context.Context, suite envadapters.Suite) []string {
	var p problems
	if suite.Name() == "" || suite.Title() == "" {
		p.bad("name %q, title %q: neither may be empty", suite.Name(), suite.Title())
	}
	if family := suite.Family(); family != domain.FamilyMobile && family != domain.FamilyWeb {
		p.bad("unknown action family %q", family)
	}
	if _, err := suite.Templates("no-such-split"); err == nil {
		p.bad("an unknown split is not an error")
	}

	if len(suite.Splits()) == 0 {
		p.bad("no splits")
	}
	home := map[string]string{}
	for _, split := range suite.Splits() {
		ts, err := suite.Templates(split)
		if err != nil {
			p.bad("split %s: %v", split, err)
			continue
		}
		p.templates(split, ts, home)
	}

	if health := suite.Check(ctx); health.State != envadapters.Ready && health.State != envadapters.Degraded {
		p.bad("not ready: %s; %s", health.Detail, health.Fix)
	}

	return p
}

// templates checks the templates of a split. home maps every template seen so far in train, test-templates or test-apps
// to its split; no two of these splits may share a template.
func (p *problems) templates(split string, ts []envadapters.Template, home map[string]string) {
	byName := func(a, b envadapters.Template) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(ts, byName) {
		p.bad("the templates of split %s are not sorted by name", split)
	}

	for i, t := range ts {
		if i > 0 && ts[i-1].Name == t.Name {
			p.bad("template %s is twice in split %s", t.Name, split)
		}
		if t.MaxSteps < 1 {
			p.bad("template %s of split %s has a budget of %d steps", t.Name, split, t.MaxSteps)
		}
		switch split {
		case domain.SplitTrain, domain.SplitTestTemplates, domain.SplitTestApps:
			if other, seen := home[t.Name]; seen && other != split {
				p.bad("template %s of split %s is in split %s, too", t.Name, split, other)
			}
			home[t.Name] = split
		}
	}
}

// Faulty checks that calls fail which must fail: a reset to an unknown task, and a call whose context has ended. It
// returns the problems, and an error if no environment opens.
func Faulty(ctx context.Context, suite envadapters.Suite, task domain.Task) ([]string, error) {
	var p problems
	if err := p.unknownTask(ctx, suite, task); err != nil {
		return nil, err
	}
	if err := p.endedContext(ctx, suite, task); err != nil {
		return nil, err
	}

	return p, nil
}

func (p *problems) unknownTask(ctx context.Context, suite envadapters.Suite, task domain.Task) error {
	env, err := suite.Open(ctx)
	if err != nil {
		return err
	}
	defer env.Close(ctx)

	task.Template = "no such template"
	if _, err := env.Reset(ctx, task); !errors.Is(err, envadapters.ErrTask) {
		p.bad("the error for an unknown task has no ErrTask in its chain: %v", err)
	}

	return nil
}

func (p *problems) endedContext(ctx context.Context, suite envadapters.Suite, task domain.Task) error {
	env, err := suite.Open(ctx)
	if err != nil {
		return err
	}
	defer env.Close(ctx)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	began := time.Now()
	if _, err := env.Reset(ended, task); err == nil {
		if _, err := env.Step(ended, noop(suite.Family())); err == nil {
			p.bad("calls continue although their context has ended")
		}
	}
	if duration := time.Since(began); duration > maxReturn {
		p.bad("a call whose context has ended returns after %v", duration)
	}

	return nil
}

// noop returns the action of a family that has no effect.
func noop(family domain.Family) domain.Action {
	if family == domain.FamilyWeb {
		return domain.Action{Family: family, Type: domain.ActionNone}
	}
	return domain.Action{Type: domain.ActionWait}
}
