package infer_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/picture"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/fakepolicy"
)

// watcher answers as the fake policies do, and notes the pictures of requests by policy.
type watcher struct {
	fakepolicy.Policies

	mu  sync.Mutex
	saw map[string][]string // digests
}

func (w *watcher) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	w.mu.Lock()
	for _, shown := range request.Images {
		if shown.Digest == chat.NewImage(shown.PNG).Digest {
			w.saw[request.Model] = append(w.saw[request.Model], shown.Digest)
		}
	}
	w.mu.Unlock()

	return w.Policies.Complete(ctx, request)
}

// pictured returns a system of two agents that each see a region, a screen of two buttons, and its screenshot.
func pictured(t *testing.T) (infer.TrainedSystem, domain.Observation, []byte) {
	t.Helper()
	s := spec.Default()
	s.Name, s.Agents, s.Rounds, s.Decoding.Temperatures = "small", 2, 1, []float64{0.5}
	s.Trainer.Name = "llamafactory"
	s.Views.Kind = agents.RegionViews
	s.Observation = agents.Presentation{Kind: agents.AsBoth, Marks: true, Pixels: 50176}
	button := func(index, x int) domain.Element {
		return domain.Element{
			Index: index, Role: "button", Text: "tap", Bounds: domain.Rect{x, 0, 80, 100}, Visible: true,
		}
	}
	o := domain.Observation{Width: 200, Height: 100, Elements: []domain.Element{button(0, 0), button(1, 110)}}
	var shot bytes.Buffer
	if err := png.Encode(&shot, image.NewRGBA(image.Rect(0, 0, 200, 100))); err != nil {
		t.Fatal(err)
	}
	policy := func(digest string) runs.Policy {
		var p runs.Policy
		p.Digest = digest

		return p
	}

	return infer.TrainedSystem{Run: "small", Spec: s, Policies: []runs.Policy{policy("a"), policy("b")}}, o,
		shot.Bytes()
}

func TestAServedSystemSeesTheScreenshotOfTheClient(t *testing.T) {
	sys, o, shot := pictured(t)
	model := &watcher{saw: map[string][]string{}}
	url := serve(t, sys, model, "")
	text, err := json.Marshal(object{"goal": "Tap it", "observation": o})
	if err != nil {
		t.Fatal(err)
	}
	screen := object{"type": "text", "text": string(text)}
	show := func(url string) object { return object{"type": "image_url", "image_url": object{"url": url}} }
	seen := show("data:image/png;base64," + base64.StdEncoding.EncodeToString(shot))

	status, a := postChat(t, url, []any{screen, seen}, object{"collabui": object{"matrix": true}})
	if status != http.StatusOK {
		t.Fatalf("the status is %d, %+v; want 200", status, a.Error)
	}
	config, err := sys.Config(0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := picture.Draw(shot, o, config.Dealt(o), sys.Spec.Observation)
	if err != nil {
		t.Fatal(err)
	}
	for i, policy := range []string{"a", "b"} {
		for _, digest := range model.saw[policy] {
			if digest != want.Parts[i].Digest {
				t.Errorf("agent %d saw picture %s, want %s, its region", i, digest, want.Parts[i].Digest)
			}
		}
		if len(model.saw[policy]) == 0 {
			t.Errorf("agent %d saw no picture, want one in every call", i)
		}
	}

	flat := object{"type": "text", "text": `{"goal":"Tap it","elements":[{"role":"button","text":"tap"}]}`}
	for name, c := range map[string]struct {
		parts []any
		want  string
	}{
		"no screenshot":  {[]any{screen}, "these agents see pictures"},
		"two":            {[]any{screen, seen, seen}, "expected one screenshot"},
		"another form":   {[]any{screen, show("https://example.org/a.png")}, "data:image/png;base64,"},
		"no picture":     {[]any{screen, show("data:image/png;base64,AAAA")}, "not a PNG"},
		"without bounds": {[]any{flat, seen}, `"bounds"`},
	} {
		t.Run(name, func(t *testing.T) {
			status, a := postChat(t, url, c.parts, nil)
			if status != http.StatusBadRequest || a.Error == nil || !strings.Contains(a.Error.Message, c.want) {
				t.Errorf("the status is %d, %+v; want 400 with %q", status, a.Error, c.want)
			}
		})
	}
}
