package main

import (
	"context"
	"encoding/csv"
	"os"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/internal/store/experiments"
)

// writeEpisodes writes every episode of every system of an experiment into a file, as experiments.Columns says.
func (s *session) writeEpisodes(ctx context.Context, x design.Experiment, path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fault.New(fault.Invalid, "--csv: %w", err)
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := csv.NewWriter(f)
	_ = w.Write(experiments.Columns)
	for _, arm := range x.Arms {
		one, two := x.Plays(arm.Name)
		for _, p := range append(one, two...) {
			for seed := 1; seed <= x.Seeds; seed++ {
				did, err := experiments.ReadPlayed(ctx, s.bucket, x, p, seed)
				if err != nil {
					return err
				}
				_ = w.WriteAll(experiments.Lines(p, seed, did.Episodes))
			}
		}
	}
	w.Flush()

	return w.Error()
}
