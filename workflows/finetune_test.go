package workflows_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// levels returns a run whose stage 1 is the curriculum.
func levels() spec.Spec {
	s := testrun.Tiny()
	s.FineTune.Levels = []int{1, 2, 3}
	s.FineTune.Steps = spec.LevelSteps{Level1: 10, Level2: 15, Level3: 10, Preference: 5}
	s.Synthesis.Screens, s.Synthesis.Pairs = 12, 30

	return s
}

// level reads the data set of a level and its rows.
func level(t *testing.T, r *testrun.Run, n int) (runs.LevelSet, []domain.Example) {
	t.Helper()
	set := read(t, r, runs.Run(r.Spec.Name).Level(n))
	raw, err := store.GetBlob(t.Context(), r.Bucket, set.Body.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	var rows []domain.Example
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}

	return set, rows
}

func TestTheCurriculumTrainsLevelByLevelAndItsCountersAddUp(t *testing.T) {
	t.Parallel()
	r := testrun.Learning(t, levels())
	end := play(t, r)

	for n := 1; n <= 3; n++ {
		wantLevel(t, r, n)
	}
	base := read(t, r, runs.Run("small").Base())
	if len(base.Curve) != 4 || base.Curve[3].At != 40 || base.StoppedBy != "levels" {
		t.Fatalf("the base policy = %+v, want a curve of 4 points that levels end at step 40", base)
	}
	for k, want := range []string{"level 1, SFT", "level 2, SFT", "level 3, SFT", "level 3, DPO"} {
		if c := read(t, r, runs.Run("small").Chunk(k+1)); c.Stage != want || c.Skipped != 0 {
			t.Errorf("chunk %d is %q with %d skipped rows, want %q with none", k+1, c.Stage, c.Skipped, want)
		}
	}
	wantViolationsFound(t, r)

	t.Run("environments that break do not change the digest", func(t *testing.T) {
		t.Parallel()
		broken := testrun.Learning(t, levels())
		broken.Suite.Break(
			scripted.Fault{Template: "a", Step: 2, Kind: scripted.Void, Times: 3},
			scripted.Fault{Template: "c", Step: 0, Kind: scripted.Void, Times: 2},
		)
		if got := play(t, broken).FinalDigest; got != end.FinalDigest {
			t.Errorf("the final digest = %s, want %s", got, end.FinalDigest)
		}
	})

	for name, c := range map[string]struct {
		levels []int
		same   bool // the next run's base policy is the given one
	}{
		"the base of one run is that of another": {nil, true},
		"a level trains the base of another run": {[]int{3}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := playFrom(t, r, base, c.levels)
			if (got.Policy == base.Policy) != c.same {
				t.Errorf("the next run's base = %+v, given was %+v; want the same: %v", got.Policy, base.Policy, c.same)
			}
			if got.Curve[0].At != 0 || got.StoppedBy != "given" {
				t.Errorf("the curve = %v, ended by %q; want it to begin at 0, ended by given", got.Curve, got.StoppedBy)
			}
		})
	}
}

// wantLevel checks the data set of a level of the curriculum.
func wantLevel(t *testing.T, r *testrun.Run, n int) {
	t.Helper()
	set, rows := level(t, r, n)
	c := set.Card
	t.Log(c.Text())
	if why := c.Counts.Problem(); why != "" {
		t.Errorf("the counters of level %d: %s, want them to add up", n, why)
	}
	if len(rows) == 0 || c.Rows != len(rows) || c.Rows != c.Counts.Kept || c.Agent == "" {
		t.Errorf("level %d has %d rows and the card %+v, want the same number and an agent", n, len(rows), c)
	}
	if n < 3 && c.Counts.Asked != 12 {
		t.Errorf("level %d asked about %d screens, want 12", n, c.Counts.Asked)
	}

	for _, p := range rows {
		if p.Chosen == "" || (p.Rejected != "") != (n == 3) {
			t.Fatalf("level %d has the row %+v, want a chosen answer, and a rejected one in level 3 only", n, p)
		}
		if n == 3 && p.ChosenCanonical == p.RejectedCanonical {
			t.Fatalf("level 3 has the row %+v, want answers that differ", p)
		}
		if !testrun.Wording.Fits(p.Prompt, p.Chosen) {
			t.Fatalf("level %d: the policy cannot say %q, want it to fit the prompt\n%s", n, p.Chosen, p.Prompt)
		}
	}
}

// playFrom plays another run that begins with the base policy of r, and returns its base.
func playFrom(t *testing.T, r *testrun.Run, base runs.Base, levelsOf []int) runs.Base {
	t.Helper()
	s := levels()
	s.Name, s.FineTune.Base, s.FineTune.Levels = "next", base.Policy.Digest, levelsOf
	next := testrun.Learning(t, s)
	raw, err := store.GetBlob(t.Context(), r.Bucket, base.Policy.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutBlob(t.Context(), next.Bucket, raw); err != nil {
		t.Fatal(err)
	}
	play(t, next)

	return read(t, next, runs.Run("next").Base())
}

// wantViolationsFound plants violations in the data set of level 2, which the validators must find, and takes them
// back.
func wantViolationsFound(t *testing.T, r *testrun.Run) {
	t.Helper()
	key := runs.Run("small").Level(2).Key
	whole, err := r.Bucket.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}

	for want, plant := range map[string]func(*runs.LevelSet, []domain.Example){
		"do not add up":             func(s *runs.LevelSet, _ []domain.Example) { s.Card.Counts.Proposed++ },
		"rows, the body has":        func(s *runs.LevelSet, _ []domain.Example) { s.Card.Rows++ },
		"does not hold the rows":    func(_ *runs.LevelSet, rows []domain.Example) { rows[0].Chosen += " " },
		"not those of the recorded": func(s *runs.LevelSet, _ []domain.Example) { s.Card.Counts.Unanswered++ },
	} {
		set, rows := level(t, r, 2)
		plant(&set, rows)
		replaceLevel(t, r, key, set, rows)

		problems, err := verify.Run(t.Context(), r.Bucket, "small")
		found := func(p verify.Problem) bool { return p.Key == key && strings.Contains(p.Detail, want) }
		if err != nil || !slices.ContainsFunc(problems, found) {
			t.Errorf("the validators found %v, %v; want %q in level 2", problems, err, want)
		}
		r.Bucket.Damage(key, whole)
	}
}

// replaceLevel overwrites a data set with a valid hash.
func replaceLevel(t *testing.T, r *testrun.Run, key string, set runs.LevelSet, rows []domain.Example) {
	t.Helper()
	raw, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	if set.Body, err = store.PutBlob(t.Context(), r.Bucket, raw); err != nil {
		t.Fatal(err)
	}
	sealed, err := store.Seal(set)
	if err != nil {
		t.Fatal(err)
	}
	r.Bucket.Damage(key, sealed)
}

// imported are two rows in the formats of other programs: a preference with a system prompt, and a conversation.
const imported = `{"prompt":[{"role":"system","content":"s"},{"role":"user","content":"Goal: Tap b\nHistory: none\n` +
	`Screen:\n0 button a\n1 button b\n"}],"chosen":[{"role":"assistant","content":"Reason: this element serves the ` +
	`goal.\nAction: {\"action_type\":\"click\",\"index\":1}"}],"rejected":"Reason: this element serves the goal.\n` +
	`Action: {\"action_type\":\"click\",\"index\":0}"}
{"messages":[{"role":"user","content":"Goal: Tap a\nHistory: none\nScreen:\n0 button a\n1 button b\n"},` +
	`{"role":"assistant","content":"Reason: this element serves the goal.\nAction: ` +
	`{\"action_type\":\"click\",\"index\":0}"}]}
`

func TestDataOfOnesOwnReplaceALevel(t *testing.T) {
	t.Parallel()
	s := levels()
	s.FineTune.Levels, s.FineTune.Steps.Level2 = []int{2, 3}, 4
	digest := store.Sum([]byte(imported))
	s.FineTune.Data = spec.LevelData{Level2: digest, Level3: digest}
	r := testrun.New(t, s)
	if _, err := store.PutBlob(t.Context(), r.Bucket, []byte(imported)); err != nil {
		t.Fatal(err)
	}
	play(t, r)

	set, got := level(t, r, 3)
	if set.Card.Imported != digest || !strings.Contains(set.Card.Text(), "imported") {
		t.Errorf("the card of level 3 = %+v, want that of the imported data %s", set.Card, digest)
	}
	if len(got) != 2 || got[0].Rejected == "" || got[1].Rejected != "" {
		t.Errorf("the rows of level 3 = %+v, want a preference and an example", got)
	}

	played, err := r.Bucket.List(t.Context(), "runs/small/finetune/trajectories/")
	if err != nil || len(played) > 0 {
		t.Errorf("%d trajectories were played, %v; want none because all data are given", len(played), err)
	}
}
