package infer_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
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

// watch plays live episodes and returns what was told.
func watch(t *testing.T, r *testrun.Run, sys infer.System, l infer.Live) []infer.Event {
	t.Helper()
	var events []infer.Event
	err := sys.Play(t.Context(), r.Deps.Chat, l, func(e infer.Event) error {
		events = append(events, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return events
}

// live plays the evaluation's own episodes: they must end as it recorded them.
func live(t *testing.T, r *testrun.Run) {
	sys := find(t, r, "1")
	ends, steps := 0, 0
	for _, e := range watch(t, r, sys, infer.Live{Suite: r.Suite, Split: domain.SplitVal, Episodes: 2}) {
		switch e.Event {
		case "episode":
			if e.Goal == "" || e.Environment != "scripted" || steps != 0 {
				t.Errorf("the event before %d steps = %+v, want a goal in scripted before the first", steps, e)
			}
		case "step":
			steps++
			wantStep(t, e, steps)
		case "end":
			ends++
			wantEnd(t, r, e, ends, steps)
			steps = 0
		}
	}
	if ends != 2 {
		t.Errorf("%d episodes were played, want 2", ends)
	}

	events := watch(t, r, sys, infer.Live{
		Suite: r.Suite, Split: domain.SplitTrain, Template: "c", First: 5, Episodes: 1,
	})
	if first := events[0]; first.Task.Template != "c" || first.Episode != 5 {
		t.Errorf("the episode is number %d of template %q, want 5 of c", first.Episode, first.Task.Template)
	}
}

// wantStep checks what is told of a step.
func wantStep(t *testing.T, e infer.Event, number int) {
	t.Helper()
	agree := 0
	for _, c := range e.Matrix {
		if c.Agrees {
			agree++
		}
	}

	if e.Step != number || e.Elements != 7 || len(e.Screen) != 7 {
		t.Errorf("step %d shows %d of %d elements, want step %d and 7 of 7", e.Step, len(e.Screen), e.Elements, number)
	}
	if len(e.Matrix) != 8 || agree != e.Vote.Votes {
		t.Errorf("%d of %d cells agree with the vote, want %d of 8", agree, len(e.Matrix), e.Vote.Votes)
	}
	if e.Executed.Type == domain.ActionClick && e.Vote.Votes == 0 {
		t.Errorf("step %d executes %+v without a vote, want a vote for it", number, e.Executed)
	}
	if e.Executed.Type == domain.ActionNone && e.Invalid == "" {
		t.Errorf("step %d executes nothing, want the reason", number)
	}
}

// wantEnd checks that an episode ends as the evaluation recorded it.
func wantEnd(t *testing.T, r *testrun.Run, e infer.Event, episode, steps int) {
	t.Helper()
	id := rules.EvalID(rules.EpochFolder(1), rules.TrainedName(4), domain.SplitVal)
	want, _, err := runs.Run("small").EvalEpisode(id, episode).Must(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*e.Outcome, want.Outcome) {
		t.Errorf("episode %d ends with %+v, want %+v as the evaluation recorded", e.Episode, *e.Outcome, want.Outcome)
	}
	if steps != e.Outcome.Steps || steps == 0 {
		t.Errorf("episode %d showed %d steps, want %d", e.Episode, steps, e.Outcome.Steps)
	}
}

func refusedLive(t *testing.T, r *testrun.Run, sys infer.System) {
	for want, l := range map[string]infer.Live{
		`no split "x": it has train`: {Suite: r.Suite, Split: "x", Episodes: 1},
		`no template "x"`:            {Suite: r.Suite, Split: "val", Template: "x", Episodes: 1},
		"at least one":               {Suite: r.Suite, Split: "val"},
		"has no screenshots":         {Suite: r.Suite, Split: "val", Episodes: 1, Screenshots: t.TempDir()},
	} {
		t.Run(want, func(t *testing.T) {
			err := sys.Play(t.Context(), r.Deps.Chat, l, func(infer.Event) error { return nil })
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
				t.Errorf("Play = %v, want an invalid fault with %q", err, want)
			}
		})
	}
}

// pictured is a suite with screenshots.
type pictured struct{ envadapters.Suite }

type shot struct{ envadapters.Environment }

func (p pictured) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := p.Suite.Open(ctx)

	return shot{e}, err
}

func (shot) Screenshot(context.Context) ([]byte, error) {
	var out bytes.Buffer
	err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 300, 600)))

	return out.Bytes(), err
}

func screenshots(t *testing.T, r *testrun.Run) {
	dir := filepath.Join(t.TempDir(), "new")
	events := watch(t, r, find(t, r, "1"), infer.Live{
		Suite: pictured{r.Suite}, Split: domain.SplitVal, Episodes: 1, Screenshots: dir,
	})

	last := events[len(events)-1]
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	steps := last.Outcome.Steps
	if len(files) != steps+1 {
		t.Fatalf("%d pictures of %d steps, want one of each and of the end", len(files), steps)
	}
	if want := files[len(files)-1].Name(); !strings.HasSuffix(last.Screenshot, want) {
		t.Errorf("the last event has the screenshot %s, want %s", last.Screenshot, want)
	}

	f, err := os.Open(last.Screenshot)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if screen, err := png.Decode(f); err != nil || screen.Bounds() != image.Rect(0, 0, 300, 600) {
		t.Errorf("the screen of the end is %v, %v, want the environment's", screen, err)
	}
}
