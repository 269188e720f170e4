package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestATrainedSystemIsUsed plays one small run and uses its system in every way that needs no service.
func TestATrainedSystemIsUsed(t *testing.T) {
	r := testrun.Learning(t, testrun.Tiny())
	_, err := export(t.Context(), r.Bucket, "small", exportOptions{out: t.TempDir()})
	wantInvalid(t, err, "no data of stage 1 yet")

	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	sys, err := infer.Find(t.Context(), r.Bucket, "small", "1")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("for one request", func(t *testing.T) { answersOneRequest(t, r, sys) })
	t.Run("for impossible requests", func(t *testing.T) { refusesRequests(t, r, sys) })
	t.Run("live", func(t *testing.T) { showsEpisodes(t, r, sys) })
	t.Run("exported", func(t *testing.T) { exportsAnEpoch(t, r, sys) })
	t.Run("exported as base policy", func(t *testing.T) { exportsTheBase(t, r) })
	t.Run("exported early", func(t *testing.T) { exportsEarly(t, r) })
	t.Run("exported with adapters", func(t *testing.T) { exportsAdapters(t, r, sys) })
}

// request writes a request to a file.
func request(t *testing.T, body []byte) inferOptions {
	t.Helper()
	file := filepath.Join(t.TempDir(), "request")
	if err := os.WriteFile(file, body, 0o644); err != nil {
		t.Fatal(err)
	}

	return inferOptions{prompt: file}
}

// answersOneRequest checks that text and JSON say the same.
func answersOneRequest(t *testing.T, r *testrun.Run, sys infer.System) {
	o := request(t, []byte("Goal: Tap ab\nHistory: none\nScreen:\n0 button ab\n1 button cd\n"))
	var text, raw bytes.Buffer
	if err := (&app{out: &text}).inferOnce(t.Context(), sys, r.Deps.Chat, o); err != nil {
		t.Fatal(err)
	}
	if err := (&app{out: &raw, json: true}).inferOnce(t.Context(), sys, r.Deps.Chat, o); err != nil {
		t.Fatal(err)
	}
	var a infer.Answer
	if err := json.Unmarshal(raw.Bytes(), &a); err != nil {
		t.Fatal(err)
	}

	if got := len(a.Collabui.Decision.Cells); got != 8 {
		t.Errorf("the matrix has %d cells, want 8", got)
	}
	if content := a.Choices[0].Message.Content; content == "" || !strings.HasSuffix(text.String(), content+"\n") {
		t.Errorf("the text ends otherwise than the answer, want %q:\n%s", content, text.String())
	}
	if got := strings.Count(text.String(), "  agent "); got != 4 {
		t.Errorf("the text shows %d agents, want 4:\n%s", got, text.String())
	}
	if got, want := strings.Count(text.String(), " *"), a.Collabui.Votes[0].Votes; got != want {
		t.Errorf("the text marks %d cells, want the %d votes:\n%s", got, want, text.String())
	}
}

func refusesRequests(t *testing.T, r *testrun.Run, sys infer.System) {
	a := &app{out: &bytes.Buffer{}}
	err := a.inferOnce(t.Context(), sys, r.Deps.Chat, request(t, make([]byte, maxRequest+1)))
	wantInvalid(t, err, "larger than")
	err = a.inferOnce(t.Context(), sys, r.Deps.Chat, inferOptions{prompt: filepath.Join(t.TempDir(), "none")})
	wantInvalid(t, err, "read the request")
}

// showsEpisodes checks that text and JSON show the same episode.
func showsEpisodes(t *testing.T, r *testrun.Run, sys infer.System) {
	var text, raw bytes.Buffer
	l := infer.Live{Suite: r.Suite, Split: domain.SplitVal, Episodes: 1}
	if err := sys.Play(t.Context(), r.Deps.Chat, l, (&app{out: &text}).event); err != nil {
		t.Fatal(err)
	}
	if err := sys.Play(t.Context(), r.Deps.Chat, l, (&app{out: &raw, json: true}).event); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(raw.String()), "\n")
	var first, step, end infer.Event
	for i, e := range map[int]*infer.Event{0: &first, 1: &step, len(lines) - 1: &end} {
		if err := json.Unmarshal([]byte(lines[i]), e); err != nil {
			t.Fatal(err)
		}
	}
	if want := end.Outcome.Steps + 2; end.Event != "end" || len(lines) != want {
		t.Errorf("%d events of which the last is %q, want %d and end", len(lines), end.Event, want)
	}

	how := "end: not solved"
	if end.Outcome.Success {
		how = "end: solved"
	}
	for _, want := range []string{
		"episode 0: scripted", "goal: " + first.Goal, "step 1: " + screenOf(step.Screen, 12) + "\n  agent 0 ",
		"\n  executed: " + step.InWords, how,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks a part, want %q:\n%s", want, text.String())
		}
	}
	if got := strings.Count(text.String(), "\nstep "); got != end.Outcome.Steps {
		t.Errorf("the text shows %d steps, want %d", got, end.Outcome.Steps)
	}
	if got := strings.Count(text.String(), "nothing done"); got != end.Outcome.Invalid {
		t.Errorf("the text shows %d steps without effect, want %d", got, end.Outcome.Invalid)
	}
}

func TestTextCannotSteerATerminal(t *testing.T) {
	if got, want := printable("a\x1b[31mb\nc\u009b"), "a[31mb\nc"; got != want {
		t.Errorf("printable = %q, want %q", got, want)
	}
}
