package workflows_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// pictured is a suite whose environments have screenshots, in which every element has a colour of its own.
type pictured struct{ envadapters.Suite }

func (p pictured) Open(ctx context.Context) (envadapters.Environment, error) {
	env, err := p.Suite.Open(ctx)

	return &picturedEnvironment{Environment: env}, err
}

type picturedEnvironment struct {
	envadapters.Environment
	screen domain.Observation
}

func (e *picturedEnvironment) Abilities() envadapters.Abilities {
	abilities := envadapters.Can(e.Environment)
	abilities.Screenshotter = e

	return abilities
}

func (e *picturedEnvironment) Reset(ctx context.Context, task domain.Task) (envadapters.Transition, error) {
	tr, err := e.Environment.Reset(ctx, task)
	e.screen = tr.Observation

	return tr, err
}

func (e *picturedEnvironment) Step(ctx context.Context, action domain.Action) (envadapters.Transition, error) {
	tr, err := e.Environment.Step(ctx, action)
	e.screen = tr.Observation

	return tr, err
}

func (e *picturedEnvironment) Screenshot(context.Context) ([]byte, error) {
	canvas := image.NewRGBA(image.Rect(0, 0, e.screen.Width, e.screen.Height))
	for _, element := range e.screen.Elements {
		tone := domain.Seed(1, element.Text)
		at := image.Rect(element.Bounds[0], element.Bounds[1], element.Bounds[0]+element.Bounds[2],
			element.Bounds[1]+element.Bounds[3])
		paint := image.NewUniform(color.RGBA{R: uint8(tone), G: uint8(tone >> 8), B: uint8(tone >> 16), A: 0xff})
		draw.Draw(canvas, at, paint, image.Point{}, draw.Src)
	}
	var out bytes.Buffer
	err := png.Encode(&out, canvas)

	return out.Bytes(), err
}

// eyes are the engine of the policies and the chat model of all other roles. They note the pictures of every request.
type eyes struct {
	speaking
	bucket store.Bucket

	mu    sync.Mutex
	calls map[string]int     // by what is requested
	blind map[string]string  // a request without its pictures, by what is requested
	shown map[[2]string]bool // user messages with digests of pictures
}

// The kinds of requests that are no role of a chat model.
const (
	byPolicy = "answer of a policy"
	ofScores = "score"
)

// note notes the pictures of a request.
func (e *eyes) note(ctx context.Context, kind, user string, pictures []chat.Image) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls[kind]++
	if len(pictures) == 0 {
		e.blind[kind] = user
	}
	for _, picture := range pictures {
		if _, err := store.GetBlob(ctx, e.bucket, picture.Digest); err != nil {
			e.blind[kind] = err.Error()
		}
		e.shown[[2]string{user, picture.Digest}] = true
	}
}

func (e *eyes) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	e.note(ctx, byPolicy, request.User, request.Images)
	if strings.Contains(request.User, "you may speak") {
		return e.speaking.Complete(ctx, request)
	}

	return e.Policies.Complete(ctx, request)
}

func (e *eyes) Score(ctx context.Context, request chat.ScoreRequest) ([]chat.Score, error) {
	e.note(ctx, ofScores, request.User, request.Images)

	return e.speaking.Score(ctx, request)
}

// role is a chat model that plays a role by the rules of the grader.
type role struct{ eyes *eyes }

func (r role) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	kind, _, _ := strings.Cut(request.System, "\n")
	r.eyes.note(ctx, kind, request.User, request.Images)

	return chat.Response{Texts: []string{answer(request.System, request.User).content()}}, nil
}

// seeing returns the specification of a run in which the given model plays every role that can be one.
func seeing(kind agents.PresentationKind, model spec.Role) spec.Spec {
	s := talking()
	s.Observation = agents.Presentation{Kind: kind, Marks: true, Pixels: 56 * 56 * 4}
	guide := spec.DefaultModel()
	guide.BaseURL, guide.Model, guide.Images = "http://127.0.0.1:1/v1", "guide", true
	s.Models = map[spec.Role]spec.Model{"guide": guide}
	if model != "" {
		s.Critic.Model, s.Adversary.Model, s.Summariser.Model = model, model, model
	}

	return s
}

// watch prepares a run of which everything that is shown is noted.
func watch(t *testing.T, s spec.Spec) (*testrun.Run, *eyes) {
	t.Helper()
	r := testrun.New(t, s)
	r.Suite.Length = 1
	e := &eyes{
		bucket: r.Bucket, calls: map[string]int{}, blind: map[string]string{}, shown: map[[2]string]bool{},
	}
	r.Deps.Chat, r.Deps.Scores = e, e
	r.Deps.Suites["webtasks"] = pictured{r.Suite}
	r.Deps.Endpoint = func(spec.Model) (chat.Model, error) { return role{e}, nil }

	return r, e
}

func TestEveryRoleThatCanSeeSees(t *testing.T) {
	t.Parallel()
	levels := seeing(agents.AsBoth, "guide")
	levels.Speech, levels.Views.Kind, levels.Reads = false, agents.FullViews, agents.ReadDAG
	levels.FineTune.Levels = []int{1, 2, 3}
	levels.FineTune.Steps = spec.LevelSteps{Level1: 5, Level2: 10, Level3: 10, Preference: 5}
	levels.Synthesis = spec.Synthesis{
		Agent: "guide", Author: "guide", Screens: 8, KeepFirst: 0.2, Questions: 7, Instructions: 8, Pairs: 20,
	}
	for name, c := range map[string]struct {
		spec  spec.Spec
		roles int // of chat models
	}{
		"the policies and the oracle": {seeing(agents.AsBoth, ""), 0},
		"a model in every role":       {levels, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, e := watch(t, c.spec)
			play(t, r)
			for kind, request := range e.blind {
				t.Errorf("%s: a request comes without its picture: %s", kind, request)
			}
			if e.calls[byPolicy] == 0 || e.calls[ofScores] == 0 || len(e.calls) != 2+c.roles {
				t.Errorf("requests by kind: %v; want answers, scores and %d roles", e.calls, c.roles)
			}
			wantPicturesOfCells(t, r, e)
			wantPicturesOfRows(t, r, e)
		})
	}
}

// wantPicturesOfCells checks that every cell names the picture that the engine received with its prompt.
func wantPicturesOfCells(t *testing.T, r *testrun.Run, e *eyes) {
	t.Helper()
	run := runs.Run(r.Spec.Name)
	for slot := 1; slot <= r.Spec.Slots; slot++ {
		steps, err := read(t, r, run.Attempt(1, slot, 1)).ReadSteps(t.Context(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			var digests []string
			for _, cell := range step.Decision.Cells {
				if !e.shown[[2]string{cell.Prompt, cell.Image}] {
					t.Errorf("slot %d, step %d: cell %d.%d names picture %q, want the one that was shown", slot,
						step.Number, cell.Agent, cell.Round, cell.Image)
				}
				digests = append(digests, cell.Image)
			}
			slices.Sort(digests)
			different := len(slices.Compact(digests))
			if want := r.Spec.Agents; r.Spec.Views.Divided() && different != want {
				t.Errorf("slot %d, step %d: the agents see %d pictures, want %d, one per region", slot, step.Number,
					different, want)
			}
			if !r.Spec.Views.Divided() && (different != 1 || digests[0] != step.Decision.Image) {
				t.Errorf("slot %d, step %d: the agents see %v, want the picture of the screen, %s", slot, step.Number,
					digests, step.Decision.Image)
			}
		}
	}
}

// wantPicturesOfRows checks that the rows of stage 2 and of stage 1 have the pictures of their prompts.
func wantPicturesOfRows(t *testing.T, r *testrun.Run, e *eyes) {
	t.Helper()
	run := runs.Run(r.Spec.Name)
	rows := 0
	for agent := range r.Spec.Agents {
		pairs, err := runs.ReadPairs(t.Context(), r.Bucket, read(t, r, run.Dataset(1, agent)).Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range pairs {
			rows++
			if !e.shown[[2]string{pair.Prompt, pair.Image}] {
				t.Errorf("a row of agent %d has picture %q, want the one of its prompt:\n%s", agent, pair.Image,
					pair.Prompt)
			}
		}
	}
	if rows == 0 {
		t.Error("the run has no rows of stage 2, want some")
	}

	var first []domain.Example
	for i := range r.Spec.FineTune.Demonstrations {
		if len(r.Spec.FineTune.Levels) == 0 {
			first = append(first, read(t, r, run.Demonstration(i)).Pairs...)
		}
	}
	levels, err := run.Levels(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range levels {
		pairs, err := runs.ReadPairs(t.Context(), r.Bucket, level.Body)
		if err != nil {
			t.Fatal(err)
		}
		first = append(first, pairs...)
	}
	if len(first) == 0 {
		t.Error("the run has no rows of stage 1, want some")
	}
	for _, row := range first {
		if _, err := store.GetBlob(t.Context(), r.Bucket, row.Image); err != nil {
			t.Errorf("a row of stage 1 has picture %q, want one in the store: %v", row.Image, err)
		}
	}
}

func TestAPictureInPlaceOfTheTextIsAllThatAgentsSee(t *testing.T) {
	t.Parallel()
	r, e := watch(t, seeing(agents.AsImage, ""))
	play(t, r)
	for key := range e.shown {
		if shownButton.MatchString(key[0]) {
			t.Fatalf("a prompt lists an element, want the picture alone:\n%s", key[0])
		}
	}
}
