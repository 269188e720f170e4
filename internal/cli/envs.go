package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/webtasks"
	"github.com/collabui/collabui/internal/fault"
)

// suites are the environments of this build.
func suites() ([]envadapters.Suite, error) {
	w, err := webtasks.New(1, 1)
	return []envadapters.Suite{w}, err
}

func envsCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "envs", Short: "List and check environments"}
	list := &cobra.Command{Use: "list", Short: "List environments, their splits and templates", Example: "  collabui envs list --json", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		all, err := suites()
		if err != nil {
			return err
		}
		for _, s := range all {
			defer func() { _ = s.Close() }()
			splits := map[string][]string{}
			groups := map[string]int{}
			for _, split := range domain.Splits {
				ts, err := s.Templates(split)
				if err != nil {
					return err
				}
				for _, t := range ts {
					splits[split] = append(splits[split], t.Name)
					if split == domain.SplitTrain || split == domain.SplitTestTemplates {
						groups[t.Group]++
					}
				}
			}
			if err := a.print(map[string]any{"name": s.Name(), "family": s.Family(), "groups": groups, "splits": splits}, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "%s (%s actions)\n", s.Name(), s.Family())
				for _, g := range sortedKeys(groups) {
					_, _ = fmt.Fprintf(w, "  group %-8s %d templates\n", g, groups[g])
				}
				_, _ = fmt.Fprintf(w, "  train, val and test-seeds: %d templates; test-templates: %d others, held out\n", len(splits[domain.SplitTrain]), len(splits[domain.SplitTestTemplates]))
			}); err != nil {
				return err
			}
		}
		return nil
	}}
	check := &cobra.Command{Use: "check [NAME]", Short: "Check that environments can be used here", Example: "  collabui envs check webtasks --screenshots shots", Args: cobra.MaximumNArgs(1)}
	shots := check.Flags().String("screenshots", "", "write a screenshot of every template into `FOLDER`")
	check.RunE = func(c *cobra.Command, args []string) error {
		all, err := suites()
		if err != nil {
			return err
		}
		bad, found := 0, false
		for _, s := range all {
			defer func() { _ = s.Close() }()
			if len(args) == 1 && args[0] != s.Name() {
				continue
			}
			found = true
			h := s.Check(c.Context())
			if h.Level != envadapters.Ready {
				bad++
			}
			if err := a.print(map[string]any{"name": s.Name(), "level": h.Level, "detail": h.Detail, "fix": h.Fix}, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "%s: %s — %s\n", s.Name(), h.Level, h.Detail)
				if h.Fix != "" {
					_, _ = fmt.Fprintf(w, "  to do: %s\n", h.Fix)
				}
			}); err != nil {
				return err
			}
			if *shots != "" && h.Level == envadapters.Ready {
				if err := screenshots(c, s, *shots); err != nil {
					return err
				}
			}
		}
		if !found {
			return fault.New(fault.Invalid, "no environment %q; see %s", args[0], a.typed("envs list"))
		}
		if bad > 0 {
			return fmt.Errorf("%w: %d environments cannot be used", errFailed, bad)
		}
		return nil
	}
	c.AddCommand(list, check)
	return c
}

// screenshots writes the first screen of every template.
func screenshots(c *cobra.Command, s envadapters.Suite, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	for _, split := range []string{domain.SplitTrain, domain.SplitTestTemplates} {
		ts, err := s.Templates(split)
		if err != nil {
			return err
		}
		for _, t := range ts {
			if err := screenshot(c, s, t, split, filepath.Join(folder, t.Name+".png")); err != nil {
				return err
			}
		}
	}
	return nil
}

func screenshot(c *cobra.Command, s envadapters.Suite, t envadapters.Template, split, path string) error {
	env, err := s.Open(c.Context())
	if err != nil {
		return err
	}
	defer env.Close(c.Context())
	if _, err := env.Reset(c.Context(), domain.Task{Suite: s.Name(), Template: t.Name, Split: split, Seed: 1, MaxSteps: t.MaxSteps}); err != nil {
		return err
	}
	shooter := envadapters.Can(env).Screenshotter
	if shooter == nil {
		return nil
	}
	png, err := shooter.Screenshot(c.Context())
	if err != nil {
		return err
	}
	return os.WriteFile(path, png, 0o644)
}
