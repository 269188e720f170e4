//go:build integration

package integration

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/workers/catalog"
)

// reader is a chat endpoint of a model that reads images. It taps the element whose text the goal names.
type reader struct {
	mu     sync.Mutex
	asked  int
	images [][]byte // of the last question that had some
}

var (
	goalLine   = regexp.MustCompile(`(?m)^(?:Goal|Request|Task): (.*)$`)
	listedLine = regexp.MustCompile(`(?m)^(\d+|[A-Z]+\.) (?:button|link|item|tab) (.*)$`)
)

func (m *reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	user, images, err := read(q.Messages[len(q.Messages)-1].Content)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.asked++
	if len(images) > 0 {
		m.images = images
	}
	m.mu.Unlock()

	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": tap(user)}}},
		"usage":   map[string]int{"prompt_tokens": 100, "completion_tokens": 10},
	})
}

// read returns the text and the images of a message, whose content is a text or a list of parts.
func read(content json.RawMessage) (text string, images [][]byte, err error) {
	var parts []struct {
		Text     string
		ImageURL struct{ URL string } `json:"image_url"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return text, nil, json.Unmarshal(content, &text)
	}
	for _, p := range parts {
		text += p.Text
		if _, data, ok := strings.Cut(p.ImageURL.URL, "base64,"); ok {
			png, _ := base64.StdEncoding.DecodeString(data)
			images = append(images, png)
		}
	}

	return text, images, nil
}

// tap answers a question in the form that it asks for.
func tap(user string) string {
	goal, found, best := goalLine.FindStringSubmatch(user), "", ""
	for _, x := range listedLine.FindAllStringSubmatch(user, -1) {
		if len(goal) > 1 && strings.Contains(goal[1], x[2]) && len(x[2]) > len(best) {
			found, best = x[1], x[2]
		}
	}
	if strings.HasSuffix(found, ".") {
		return "ELEMENT: " + found + "\nACTION: CLICK\nVALUE: None"
	}

	return fmt.Sprintf("Reason: the goal names it\nAction: {\"action_type\":\"click\",\"index\":%s}", found)
}

// TestAgentsOfTheLiteraturePlayRealPages asks a chat endpoint over HTTP in every style, on pages in Chromium. What is
// right takes one tap, so every style must reach it.
func TestAgentsOfTheLiteraturePlayRealPages(t *testing.T) {
	t.Parallel()
	model := &reader{}
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	m := spec.DefaultModel()
	m.BaseURL, m.Model, m.Images = server.URL+"/v1", "guide", true
	client, err := llm.New(llm.Config{BaseURL: m.BaseURL, Model: m.Model, Images: true, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	suite, err := catalog.OpenEnvironment(envadapters.Options{Suite: "webtasks"}, catalog.Places{Browsers: 1, Tabs: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = suite.Close() })

	s := spec.Default()
	s.Models = map[spec.Role]spec.Model{"guide": m}
	for style, images := range map[string]int{
		rules.WayPlain: 0, prompts.T3A: 0, prompts.M3A: 2, prompts.SeeAct: 1, prompts.InfiGUI: 1,
	} {
		system, err := rules.Kind{Of: "guide", Way: style}.System(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		model.images = nil
		for i := range 4 {
			if !wins(t, episode.Evaluation{Spec: s, System: system, Split: domain.SplitVal, Model: client}, suite, i) {
				t.Errorf("%s fails episode %d, want a success", style, i)
			}
		}
		if len(model.images) != images {
			t.Errorf("%s shows %d images, want %d", style, len(model.images), images)
		}
		if dir := os.Getenv("COLLABUI_PICTURES"); dir != "" {
			for k, png := range model.images {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.png", style, k)), png, 0o600); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// wins reports whether a system succeeds at a task of one tap.
func wins(t *testing.T, v episode.Evaluation, suite envadapters.Suite, i int) bool {
	t.Helper()
	task := domain.Task{
		Suite: "webtasks", Template: "tap-link", Split: domain.SplitVal, Seed: uint64(i + 1), MaxSteps: 3,
	}
	success := false
	err := episode.In(t.Context(), suite, v.Family(suite), func(env envadapters.Environment) error {
		p, _, err := v.Player(env, i)
		if err != nil {
			return err
		}
		played, err := p.Play(t.Context(), env, task)
		success = played.Outcome.Success

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return success
}
