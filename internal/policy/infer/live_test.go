package infer_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// live plays the evaluation's own episodes: they must end as it recorded them.
func live(t *testing.T, r *testrun.Run) {
	sys, err := infer.Find(t.Context(), r.Bucket, "small", "1")
	if err != nil {
		t.Fatal(err)
	}
	var events []infer.Event
	tell := func(e infer.Event) error { events = append(events, e); return nil }
	if err := sys.Play(t.Context(), r.Deps.Chat, infer.Live{Suite: r.Suite, Split: domain.SplitVal, Episodes: 2}, tell); err != nil {
		t.Fatal(err)
	}
	ends, steps := 0, 0
	for _, e := range events {
		switch e.Event {
		case "episode":
			if e.Goal == "" || e.Environment != "scripted" || steps != 0 {
				t.Errorf("%+v", e)
			}
		case "step":
			steps++
			agree := 0
			for _, c := range e.Matrix {
				if c.Agrees {
					agree++
				}
			}
			if e.Step != steps || e.Elements != 7 || e.Shown != 7 || len(e.Matrix) != 8 || agree != e.Vote.Votes || e.Executed.Type == domain.ActionClick && e.Vote.Votes == 0 || e.Executed.Type == domain.ActionNone && e.Invalid == "" {
				t.Errorf("step %d: %+v", steps, e)
			}
		case "end":
			ends++
			id := rules.EvalID(rules.EpochFolder(1), rules.TrainedName(4), domain.SplitVal)
			want, _, err := runs.Run("small").EvalEpisode(id, ends).Read(t.Context(), r.Bucket)
			if err != nil || !reflect.DeepEqual(*e.Outcome, want.Outcome) || steps != e.Outcome.Steps || steps == 0 {
				t.Errorf("episode %d ends after %d steps with %+v; the evaluation recorded %+v, %v", e.Episode, steps, e.Outcome, want.Outcome, err)
			}
			steps = 0
		}
	}
	if ends != 2 {
		t.Errorf("%d episodes", ends)
	}
	events = nil
	if err := sys.Play(t.Context(), r.Deps.Chat, infer.Live{Suite: r.Suite, Split: domain.SplitTrain, Template: "c", First: 5, Episodes: 1}, tell); err != nil || events[0].Task.Template != "c" || events[0].Episode != 5 {
		t.Error(events, err)
	}
	for says, l := range map[string]infer.Live{`no split "x": it has train`: {Suite: r.Suite, Split: "x", Episodes: 1}, `no template "x"`: {Suite: r.Suite, Split: "val", Template: "x", Episodes: 1},
		"at least one": {Suite: r.Suite, Split: "val"}, "has no screenshots": {Suite: r.Suite, Split: "val", Episodes: 1, Screenshots: t.TempDir()}} {
		if err := sys.Play(t.Context(), r.Deps.Chat, l, tell); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "new")
	if err := sys.Play(t.Context(), r.Deps.Chat, infer.Live{Suite: pictured{r.Suite}, Split: domain.SplitVal, Episodes: 1, Screenshots: dir}, tell); err != nil {
		t.Fatal(err)
	}
	last := events[len(events)-1]
	if files, err := os.ReadDir(dir); err != nil || len(files) != last.Outcome.Steps+1 || !strings.HasSuffix(last.Screenshot, files[len(files)-1].Name()) {
		t.Errorf("%d screenshots of %d steps, the last %s: %v", len(files), last.Outcome.Steps, last.Screenshot, err)
	}
}

// pictured is a suite with screenshots.
type pictured struct{ envadapters.Suite }

type shot struct{ envadapters.Environment }

func (p pictured) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := p.Suite.Open(ctx)
	return shot{e}, err
}

func (shot) Screenshot(context.Context) ([]byte, error) { return []byte("png"), nil }
