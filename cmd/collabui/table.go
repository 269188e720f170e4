package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// table prints results: success rates by environment, steps of recorded tasks apart from them, then how each system decoded.
func table(w io.Writer, all []runs.Result) {
	var order []string
	by := map[string][]runs.Result{}
	for _, r := range all {
		key := r.Environment + r.Protocol
		if by[key] == nil {
			order = append(order, key)
		}
		by[key] = append(by[key], r)
	}
	for _, key := range order {
		rs := by[key]
		if first := rs[0]; first.Protocol != "" {
			recordedTable(w, rs)
			continue
		} else if first.Environment != "" {
			_, _ = fmt.Fprintf(w, "\n%s%s\n", first.Environment, version(first))
		}
		_, _ = fmt.Fprintf(w, "%-12s %-15s %9s %7s   %s\n", "system", "split", "right", "rate", "95 % interval (Wilson)")
		for _, r := range rs {
			_, _ = fmt.Fprintf(w, "%-12s %-15s %4d/%-4d %5.1f %%   %.1f to %.1f", r.System, r.Split, r.Successes, r.Episodes, 100*r.Rate, 100*r.Low, 100*r.High)
			if r.Missing > 0 {
				n := float64(r.Episodes + r.Missing)
				_, _ = fmt.Fprintf(w, "   %d missing: %.1f to %.1f %% at worst and best", r.Missing, 100*float64(r.Successes)/n, 100*float64(r.Successes+r.Missing)/n)
			}
			_, _ = fmt.Fprintln(w)
		}
	}
	decoding := map[string]string{}
	for _, r := range all {
		decoding[r.System] = r.Decoding
	}
	_, _ = fmt.Fprintln(w)
	for _, k := range sortedKeys(decoding) {
		_, _ = fmt.Fprintf(w, "decoding %-10s %s\n", k, decoding[k])
	}
}

func version(r runs.Result) string {
	if r.Version == "" {
		return ""
	}
	return " · " + fmt.Sprintf("%.160s", r.Version)
}

// recordedTable prints step rates: these are no success rates and stand in no column with such.
func recordedTable(w io.Writer, rs []runs.Result) {
	_, _ = fmt.Fprintf(w, "\n%s, recorded tasks, protocol %s%s\n", rs[0].Environment, rs[0].Protocol, version(rs[0]))
	_, _ = fmt.Fprintf(w, "%-15s %-15s %-16s %7s %7s   %-24s %12s\n", "system", "split", "metric", "micro", "macro", "95 % of micro (bootstrap)", "steps/tasks")
	for _, r := range rs {
		names := sortedKeys(r.Metrics)
		slices.SortStableFunc(names, func(a, b string) int { // the one to compare by comes first
			return map[bool]int{true: -1, false: 0}[a == envadapters.StepSR] - map[bool]int{true: -1, false: 0}[b == envadapters.StepSR]
		})
		for i, k := range names {
			m := r.Metrics[k]
			system, split := r.System, r.Split
			if i > 0 {
				system, split = "", ""
			}
			_, _ = fmt.Fprintf(w, "%-15s %-15s %-16s %5.1f %% %5.1f %%   %5.1f to %-5.1f %19d/%d\n", system, split, k, 100*m.Micro, 100*m.Macro, 100*m.Low, 100*m.High, m.Steps, m.Tasks)
		}
		_, _ = fmt.Fprintf(w, "%-15s %-15s %-16s %3d of %d tasks right in full\n", "", "", "task_sr", r.Successes, r.Episodes)
	}
}

// refer evaluates the systems without policies on recorded tasks.
func (a *app) refer(c *cobra.Command, f *envFlags, name, split string) error {
	if name == "" {
		return fault.New(fault.Invalid, "name a RUN, or an environment of recorded tasks with --environment")
	}
	s, err := f.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if h := s.Check(c.Context()); h.State == envadapters.Dead {
		return fault.New(fault.Invalid, "%s: %s; %s", name, h.Detail, h.Fix)
	}
	if envadapters.ProtocolOf(s) == "" {
		return fault.New(fault.Invalid, "%s has no recorded tasks: evaluate a RUN on it", s.Title())
	}
	var all []runs.Result
	for _, x := range s.Splits() {
		if split != "" && x != split || split == "" && x == domain.SplitTrain {
			continue
		}
		for _, e := range rules.References() {
			r, err := activities.Refer(c.Context(), s, x, e)
			if err != nil {
				return err
			}
			all = append(all, r)
			if a.json {
				if err := a.print(r, nil); err != nil {
					return err
				}
			}
		}
	}
	if len(all) == 0 {
		return fault.New(fault.Invalid, "%s has no split %q; it has %v", name, split, s.Splits())
	}
	if !a.json {
		table(a.out, all)
	}
	return nil
}

// place is where an evaluation plays: the run's environment, or the one that name gives, and what stands in its table beside the run's systems. Options that the run's
// specification does not name are part of the environment's label, so that results over other data are never adopted. Recorded tasks are played once each unless counted says
// that their number was given.
func (f *envFlags) place(s spec.Spec, name, split string, episodes int, counted bool) (rules.Split, []rules.EvalSystem, error) {
	on, o := rules.Split{Name: split, Episodes: episodes}, s.Where(s.Environment)
	if _, ok := s.Environments[name]; ok {
		o, on.Environment, on.Options = s.Where(name), name, s.Where(name)
	} else if name != "" {
		given, err := f.options(name)
		if err != nil {
			return on, nil, err
		}
		if runs.Digest(given) != runs.Digest(o) {
			o, on.Environment, on.Options = given, fmt.Sprintf("%s-%.8s", given.Suite, runs.Digest(given)), given
		}
	}
	suite, err := catalog.OpenEnvironment(o, catalog.Places{Browsers: 1, Tabs: 1})
	if err != nil {
		return on, nil, err
	}
	defer func() { _ = suite.Close() }()
	ts, err := suite.Templates(split)
	if err != nil || envadapters.ProtocolOf(suite) == "" {
		return on, nil, err
	}
	if !counted {
		on.Episodes = len(ts)
	}
	return on, rules.References(), nil
}
