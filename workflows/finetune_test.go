package workflows_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/verify"
	"github.com/collabui/collabui/test/kit/testrun"
)

// levels is a run whose stage 1 is the curriculum.
func levels() spec.Spec {
	s := testrun.Tiny()
	s.FineTune.Levels, s.FineTune.Steps = []int{1, 2, 3}, spec.LevelSteps{Level1: 10, Level2: 15, Level3: 10, Preference: 5}
	s.Synthesis.Screens, s.Synthesis.Pairs = 12, 30
	return s
}

func level(t *testing.T, r *testrun.Run, n int) (runs.LevelSet, []domain.Pair) {
	t.Helper()
	set, _, err := runs.Run(r.Spec.Name).Level(n).Read(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := store.GetBlob(t.Context(), r.Bucket, set.Body.SHA256)
	var rows []domain.Pair
	if err == nil {
		err = json.Unmarshal(raw, &rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set, rows
}

func TestTheCurriculumTrainsLevelByLevelAndItsCountersAddUp(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, levels())
	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)
	for n := 1; n <= 3; n++ {
		set, rows := level(t, r, n)
		c := set.Card
		t.Log(c.Text())
		if why := c.Counts.Problem(); why != "" || c.Rows != len(rows) || c.Rows != c.Counts.Kept || c.Rows == 0 || c.Agent == "" {
			t.Errorf("level %d: %s; %d rows, %+v", n, why, len(rows), c)
		}
		for _, p := range rows {
			if p.Chosen == "" || (n == 3) != (p.Rejected != "") || n == 3 && p.ChosenCanonical == p.RejectedCanonical {
				t.Fatalf("level %d: %+v", n, p)
			}
			if !testrun.Wording.Fits(p.Prompt, p.Chosen) {
				t.Fatalf("level %d: the policy cannot say %q to\n%s", n, p.Chosen, p.Prompt)
			}
		}
		if n < 3 && c.Counts.Asked != 12 {
			t.Errorf("level %d: asked about %d screens", n, c.Counts.Asked)
		}
	}
	base, _, err := runs.Run("small").Base().Read(t.Context(), r.Bucket)
	if err != nil || len(base.Curve) != 4 || base.Curve[3].At != 40 || base.StoppedBy != "levels" {
		t.Fatalf("%+v %v", base, err)
	}
	for k, want := range []string{"level 1, SFT", "level 2, SFT", "level 3, SFT", "level 3, DPO"} {
		c, _, err := runs.Run("small").Chunk(k+1).Read(t.Context(), r.Bucket)
		if err != nil || c.Stage != want || c.Skipped != 0 {
			t.Errorf("%+v %v", c, err)
		}
	}

	spoil(t, r)

	broken := testrun.New(t, levels())
	broken.Suite.Break(scripted.Fault{Template: "a", Step: 2, Kind: "void", Times: 3}, scripted.Fault{Template: "c", Step: 0, Kind: "void", Times: 2})
	again, err := broken.Play(t, nil)
	if err != nil || again.FinalDigest != end.FinalDigest {
		t.Errorf("environments that broke changed the digest: %s, want %s, %v", again.FinalDigest, end.FinalDigest, err)
	}

	// The base of one run begins another one; alone it is the base as it stands, and any level can be skipped.
	for _, lv := range [][]int{nil, {3}} {
		s := levels()
		s.Name, s.FineTune.Base, s.FineTune.Levels = "next", base.Policy.Digest, lv
		next := testrun.New(t, s)
		raw, err := store.GetBlob(t.Context(), r.Bucket, base.Policy.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.PutBlob(t.Context(), next.Bucket, raw); err != nil {
			t.Fatal(err)
		}
		if _, err := next.Play(t, nil); err != nil {
			t.Fatal(err)
		}
		clean(t, next)
		got, _, err := runs.Run("next").Base().Read(t.Context(), next.Bucket)
		if err != nil || (got.Policy == base.Policy) != (lv == nil) || got.Curve[0].At != 0 || got.StoppedBy != "given" {
			t.Errorf("levels %v: %+v %v", lv, got, err)
		}
	}
}

// spoil plants violations in the data set of level 2, which the validators must find, and takes them back.
func spoil(t *testing.T, r *testrun.Run) {
	t.Helper()
	key := runs.Run("small").Level(2).Key
	whole, err := r.Bucket.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for want, plant := range map[string]func(*runs.LevelSet, []domain.Pair) []domain.Pair{
		"do not add up":             func(s *runs.LevelSet, rows []domain.Pair) []domain.Pair { s.Card.Counts.Proposed++; return rows },
		"rows, the body has":        func(s *runs.LevelSet, rows []domain.Pair) []domain.Pair { s.Card.Rows++; return rows },
		"does not hold the rows":    func(_ *runs.LevelSet, rows []domain.Pair) []domain.Pair { rows[0].Chosen += " "; return rows },
		"not those of the recorded": func(s *runs.LevelSet, rows []domain.Pair) []domain.Pair { s.Card.Counts.Unanswered++; return rows },
	} {
		set, rows := level(t, r, 2)
		raw, err := json.Marshal(plant(&set, rows))
		if err == nil {
			set.Body, err = store.PutBlob(t.Context(), r.Bucket, raw)
		}
		sealed, err2 := store.Seal(set)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		r.Bucket.Damage(key, sealed)
		ps, err := verify.Run(t.Context(), r.Bucket, "small")
		if err != nil || !slices.ContainsFunc(ps, func(p verify.Problem) bool { return p.Key == key && strings.Contains(p.Detail, want) }) {
			t.Errorf("%s is not found: %v %v", want, ps, err)
		}
		r.Bucket.Damage(key, whole)
	}
}

func TestDataOfOnesOwnReplaceALevel(t *testing.T) {
	t.Parallel()
	const rows = `{"prompt":[{"role":"system","content":"s"},{"role":"user","content":"Goal: Tap b\nHistory: none\nScreen:\n0 button a\n1 button b\n"}],"chosen":[{"role":"assistant","content":"Reason: this element serves the goal.\nAction: {\"action_type\":\"click\",\"index\":1}"}],"rejected":"Reason: this element serves the goal.\nAction: {\"action_type\":\"click\",\"index\":0}"}
{"messages":[{"role":"user","content":"Goal: Tap a\nHistory: none\nScreen:\n0 button a\n1 button b\n"},{"role":"assistant","content":"Reason: this element serves the goal.\nAction: {\"action_type\":\"click\",\"index\":0}"}]}
`
	s := levels()
	s.FineTune.Levels, s.FineTune.Steps.Level2 = []int{2, 3}, 4
	s.FineTune.Data = spec.LevelData{Level2: store.Sum([]byte(rows)), Level3: store.Sum([]byte(rows))}
	r := testrun.New(t, s)
	if _, err := store.PutBlob(t.Context(), r.Bucket, []byte(rows)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	set, got := level(t, r, 3)
	if len(got) != 2 || set.Card.Imported != s.FineTune.Data.Level3 || got[0].Rejected == "" || got[1].Rejected != "" || !strings.Contains(set.Card.Text(), "imported") {
		t.Errorf("%+v %+v", set.Card, got)
	}
	if played, err := r.Bucket.List(t.Context(), "runs/small/finetune/trajectories/"); err != nil || len(played) > 0 {
		t.Errorf("%d trajectories although all data are given", len(played))
	}
	clean(t, r)
}

// truth checks a row against what its prompt says: the scripted goals name the button to tap.
func truth(t *testing.T, level int, p domain.Pair) {
	t.Helper()
	var goal string
	lines := map[string]string{}
	for _, l := range strings.Split(p.Prompt, "\n") {
		if g, ok := strings.CutPrefix(l, "Goal: "); ok {
			goal = g
		}
		if f := strings.Fields(l); len(f) == 3 && f[1] == "button" {
			lines[f[0]] = f[2]
		}
		if at, ok := strings.CutPrefix(l, "6 text count "); ok && level == 3 {
			n, _ := strconv.Atoi(at)
			goal = strings.Split(strings.TrimPrefix(goal, "Tap "), " then ")[n]
		}
	}
	index := func(text string) string {
		a, err := agents.ParseAnswer(text)
		if err != nil || a.Index == nil {
			return ""
		}
		return lines[strconv.Itoa(*a.Index)]
	}
	if got := index(p.Chosen); !strings.HasSuffix(goal, got) || got == "" {
		t.Errorf("level %d: %q is not what %q asks for", level, p.Chosen, goal)
	}
	if level == 3 && index(p.Rejected) == goal {
		t.Errorf("%q is rejected although it is right: %s", p.Rejected, goal)
	}
}

// labelled checks that every label of a run is the judge's or ∅.
func labelled(t *testing.T, r *testrun.Run) {
	t.Helper()
	for epoch := 1; epoch <= r.Spec.Epochs; epoch++ {
		for slot := 1; slot <= r.Spec.Slots; slot++ {
			c, _, err := runs.Run(r.Spec.Name).Credits(epoch, slot).Read(t.Context(), r.Bucket)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range c.Steps {
				st, _, err := runs.Run(r.Spec.Name).Step(epoch, slot, 1, l.Step).Read(t.Context(), r.Bucket)
				if err != nil {
					t.Fatal(err)
				}
				for j, want := range credit.Oracle(st.Step).Labels {
					if l.Labels[j] != domain.Uncertain && l.Labels[j] != want {
						t.Errorf("epoch %d, slot %d, step %d, cell %d is labelled %d, truly %d", epoch, slot, l.Step, j, l.Labels[j], want)
					}
				}
			}
		}
	}
}
