package workflows_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestEveryChunkWithSpeechHasDemonstrationsOfItsOwn trains stage 1 with divided views: one answer for every cell, new
// tasks in every chunk, and the same base policy if environments break.
func TestEveryChunkWithSpeechHasDemonstrationsOfItsOwn(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	s.Views.Kind = agents.RegionViews
	s.Speech = true
	s.Reads = agents.ReadBack
	s.Epochs = 0
	s.FineTune.Demonstrations = 5
	s.FineTune.ChunkSteps = 4
	s.FineTune.MaxChunks = 3
	s.FineTune.StopLow = 1
	s.FineTune.StopHigh = 1
	r := testrun.Learning(t, s)
	end := play(t, r)

	base := read(t, r, runs.Run("small").Base())
	if len(base.Curve) != 3 || base.Curve[2].At != 12 || base.StoppedBy != "max_chunks" {
		t.Fatalf("the base policy = %+v, want a curve of 3 points that max_chunks ends at step 12", base)
	}
	tasks := map[uint64]bool{}
	heard := false
	for i := range 15 {
		demonstration := read(t, r, runs.Run("small").Demonstration(i))
		tasks[demonstration.Slot.Task.Seed] = true
		cells := map[[3]int]bool{}
		for _, row := range demonstration.Pairs {
			cells[[3]int{row.Step, row.Agent, row.Round}] = true
			heard = heard || strings.Contains(row.Prompt, "said, maybe wrong")
			if !strings.Contains(row.Prompt, "You see ") {
				t.Fatalf("the prompt is\n%s\nwant what the agent sees", row.Prompt)
			}
		}
		steps := len(cells) / (s.Agents * s.Rounds)
		if len(cells) == 0 || len(cells) != steps*s.Agents*s.Rounds || len(cells) != len(demonstration.Pairs) {
			t.Errorf("demonstration %d has %d rows for %d cells, want one for every cell of its steps",
				i, len(demonstration.Pairs), len(cells))
		}
	}
	if len(tasks) != 15 || !heard {
		t.Errorf("%d tasks were played, and messages heard: %v; want 15 and true", len(tasks), heard)
	}

	broken := testrun.Learning(t, s)
	broken.Suite.Break(
		scripted.Fault{Template: "a", Step: 1, Kind: scripted.Void, Times: 3},
		scripted.Fault{Template: "c", Step: 0, Kind: scripted.Void, Times: 2},
	)
	if got := play(t, broken).FinalDigest; got != end.FinalDigest {
		t.Errorf("with environments that break, the final digest = %s, want %s", got, end.FinalDigest)
	}
}
