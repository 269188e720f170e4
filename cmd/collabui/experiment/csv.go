package experiment

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/records/experiments"
)

// writeEpisodes writes every episode of every system of an experiment into a file with experiments.Columns. It replaces
// an existing file once all episodes are read.
func writeEpisodes(ctx context.Context, session *app.Session, declared experiment.Experiment, path string) error {
	var lines bytes.Buffer
	writer := csv.NewWriter(&lines)
	_ = writer.Write(experiments.Columns)
	for _, arm := range declared.Arms {
		one, two := declared.Plays(arm.Name)
		for _, play := range append(one, two...) {
			for seed := 1; seed <= declared.Seeds; seed++ {
				did, err := experiments.ReadPlayed(ctx, session.Store, declared, play, seed, 0)
				if err != nil {
					return err
				}
				for _, line := range experiments.Lines(play, seed, did.Episodes) {
					for i, text := range line {
						line[i] = interop.Inert(text)
					}
					_ = writer.Write(line)
				}
			}
		}
	}
	writer.Flush()
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		return fault.New(fault.Invalid, "--csv: %w", err)
	}

	return writer.Error()
}
