package run

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/workflows"
)

// TestNothingIsShownAfterCtrlC: watch then says that it is detached, and not that something else was given up.
func TestALongErrorIsCutBetweenCharacters(t *testing.T) {
	for length := 78; length <= 82; length++ {
		got := shorten(errors.New(strings.Repeat("x", length) + "größe"))
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 81 {
			t.Errorf("shorten = %q, want at most 80 whole characters and an ellipsis", got)
		}
	}
}

func TestNothingIsShownAfterCtrlC(t *testing.T) {
	temporal, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer temporal.Close()
	var out bytes.Buffer
	s := &app.Session{App: &app.App{Out: &out, Err: &out}, Temporal: temporal}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	done, err := poll(ctx, s, status.NewProgress(s.App, "x"), &eventReader{})
	if done || err != nil || out.Len() > 0 {
		t.Errorf("poll = %v, %v and printed %q, want nothing", done, err, out.String())
	}
	status.NewProgress(s.App, "x").ShowWorkflow(ctx, temporal, "epoch 1/2", workflows.Status{Child: "x"})
	if out.Len() > 0 {
		t.Errorf("progress printed %q, want nothing", out.String())
	}
}
