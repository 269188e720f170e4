package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/workers/catalog"
)

func envsCheckCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "check [NAME|ws://ADDRESS]", Short: "Check that environments can be used here, and that every task holds the contract",
		Example: "  collabui envs check\n  collabui envs check miniwob --files DIR --screenshots shots\n  collabui envs check ws://127.0.0.1:8000/ws", Args: cobra.MaximumNArgs(1)}
	f := &envFlags{}
	f.add(c)
	tasks := c.Flags().Int("tasks", 0, "templates to check per split, evenly drawn; 0 is all. Without NAME one is checked")
	seed := c.Flags().Uint64("seed", 7, "of the tasks")
	shots := c.Flags().String("screenshots", "", "write the first screen of every checked task into `FOLDER`")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *tasks < 0 || f.tabs < 1 {
			return fault.New(fault.Invalid, "--tasks must be at least 0 and --tabs at least 1")
		}
		names, alone := catalog.EnvironmentNames(), false
		if len(args) == 1 {
			names, alone = args, true
		} else {
			*tasks = 1
		}
		if *shots != "" {
			if err := os.MkdirAll(*shots, 0o755); err != nil {
				return fault.New(fault.Invalid, "%w", err)
			}
		}
		bad := 0
		for _, name := range names {
			ok, err := a.checkSuite(c, f, name, alone, *tasks, *seed, *shots)
			if err != nil {
				return err
			}
			if !ok {
				bad++
			}
		}
		if bad > 0 && alone {
			return fmt.Errorf("%w: see above", errFailed)
		}
		return nil
	}
	return c
}

// checkSuite checks one suite; where all are checked, one that lacks something is no failure.
func (a *app) checkSuite(c *cobra.Command, f *envFlags, name string, alone bool, tasks int, seed uint64, shots string) (bool, error) {
	if _, err := f.options(name); err != nil {
		return false, err
	}
	s, err := f.open(name)
	h := envadapters.Health{State: envadapters.Dead}
	if err != nil {
		e, _ := catalog.FindEnvironment(name)
		h.Detail, h.Fix = err.Error(), e.Get
	} else {
		defer func() { _ = s.Close() }()
		h = s.Check(c.Context())
	}
	shown := map[string]any{"name": name, "level": h.State, "detail": h.Detail, "fix": h.Fix}
	if m, ok := s.(envadapters.Metered); ok {
		shown["figures"] = m.Figures()
	}
	if err := a.print(shown, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%s: %s — %s\n", name, h.State, h.Detail)
		if h.Fix != "" {
			_, _ = fmt.Fprintf(w, "  to do: %s\n", h.Fix)
		}
	}); err != nil || h.State == envadapters.Dead {
		return false, err
	}
	problems := acceptance.Suite(c.Context(), s)
	for _, p := range problems {
		if err := a.print(map[string]any{"name": name, "problem": p}, func(w io.Writer) { _, _ = fmt.Fprintln(w, "  problem:", p) }); err != nil {
			return false, err
		}
	}
	ok, err := a.checkTasks(c, s, f.tabs, tasks, seed, shots)
	return ok && len(problems) == 0, err
}

// toCheck lists every template once, with the first split that has it.
func toCheck(s envadapters.Suite, perSplit int, seed uint64) ([]domain.Task, error) {
	var out []domain.Task
	seen := map[string]bool{}
	recorded := envadapters.ProtocolOf(s) != ""
	for _, split := range s.Splits() {
		ts, err := s.Templates(split)
		if err != nil {
			return nil, err
		}
		every := 1
		if perSplit > 0 {
			every = max(1, (len(ts)+perSplit-1)/perSplit)
		}
		for i := 0; i < len(ts); i += every {
			id := ts[i].Name
			if recorded {
				id = split + "/" + id
			}
			if !seen[id] {
				seen[id] = true
				out = append(out, domain.Task{Suite: s.Name(), Template: ts[i].Name, Split: split, Seed: seed, MaxSteps: ts[i].MaxSteps})
			}
		}
	}
	return out, nil
}

// checkTasks plays tasks, some at once, and reports in their order.
func (a *app) checkTasks(c *cobra.Command, s envadapters.Suite, width, perSplit int, seed uint64, shots string) (bool, error) {
	list, err := toCheck(s, perSplit, seed)
	if err != nil {
		return false, err
	}
	type result struct {
		r   acceptance.Report
		err error
	}
	results := make([]chan result, len(list))
	for i := range results {
		results[i] = make(chan result, 1)
	}
	next := make(chan int, len(list))
	for i := range list {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range width {
		wg.Go(func() {
			for i := range next {
				r, err := acceptance.Task(c.Context(), s, list[i])
				results[i] <- result{r, err}
			}
		})
	}
	defer wg.Wait()
	good, solved, experts, identical := 0, 0, 0, 0
	for i := range list {
		x := <-results[i]
		if x.err != nil {
			x.r.Problems = append(x.r.Problems, x.err.Error())
		}
		if c.Context().Err() != nil {
			return false, c.Context().Err()
		}
		if len(x.r.Problems) == 0 {
			good++
		}
		if x.r.Replay == acceptance.Identical {
			identical++
		}
		if x.r.Expert != acceptance.None {
			experts++
		}
		if x.r.Expert == acceptance.Solves {
			solved++
		}
		if shots != "" && x.r.Screenshot != nil {
			if err := os.WriteFile(filepath.Join(shots, s.Name()+"-"+strings.ReplaceAll(x.r.Template, "/", "-")+".png"), x.r.Screenshot, 0o644); err != nil {
				return false, err
			}
		}
		if err := a.print(x.r, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "  %-30s %-15s %4d elements  %3d steps  replay %-9s  expert %-6s  %.60s\n", x.r.Template, x.r.Split, x.r.Elements, x.r.Steps, x.r.Replay, x.r.Expert, strings.Join(strings.Fields(x.r.Goal), " "))
			for _, p := range x.r.Problems {
				_, _ = fmt.Fprintf(w, "    problem: %.300s\n", p)
			}
		}); err != nil {
			return false, err
		}
	}
	if !a.json {
		_, _ = fmt.Fprintf(a.out, "%s: %d of %d tasks hold the contract, %d replay identically, the expert solves %d of the %d that it knows\n", s.Title(), good, len(list), identical, solved, experts)
	}
	return good == len(list), nil
}
