package llamafactory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer"
)

const (
	user   = `{"role":"user","content":"u"}`
	reply  = `{"role":"assistant","content":"a"}`
	system = `{"role":"system","content":"s"}`
)

// longRow has more bytes than the cutoff of these tests, so a tokenizer is asked.
var longRow = `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 20) + `"},` + reply + "]}\n"

// shortOptions returns options with a cutoff of 100 tokens.
func shortOptions() Options {
	o := DefaultOptions()
	o.Cutoff = 100

	return o
}

// script writes a shell script that takes the place of the interpreter that counts tokens.
func script(t *testing.T, body string) string {
	t.Helper()

	file := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}

	return file
}

// TestRowsThatWouldBeDroppedOrCutAreRefused before the program starts.
func TestRowsThatWouldBeDroppedOrCutAreRefused(t *testing.T) {
	tl := tool(t)
	const one, two = `{"role":"user","content":"<image>"}`, `{"role":"user","content":"<image><image>"}`

	for name, c := range map[string]struct {
		row     string
		ranking bool
		want    string
	}{
		"no answer": {
			row:  `{"messages":[` + user + `]}`,
			want: "expected an even number of turns",
		},
		"no answer at the end": {
			row:  `{"messages":[` + system + `,` + user + `,` + reply + `,` + user + `]}`,
			want: "expected an even number of turns",
		},
		"wrong order": {
			row:  `{"messages":[` + reply + `,` + user + `]}`,
			want: "user and assistant in turn",
		},
		"no turns": {
			row:  `{"messages":[]}`,
			want: "expected an even number of turns",
		},
		"image without a place": {
			row:  `{"messages":[` + user + `,` + reply + `],"images":["x.png"]}`,
			want: "as many images as places for them: 1 and 0",
		},
		"place without an image": {
			row:  `{"messages":[` + two + `,` + reply + `],"images":["x.png"]}`,
			want: "as many images as places for them: 1 and 2",
		},
		"long text": {
			row:  longRow,
			want: "nothing here can count them",
		},
		"image of some 330 tokens": {
			row:  `{"messages":[` + one + `,` + reply + `],"images":["x.png"]}`,
			want: "nothing here can count them",
		},
		"not JSON": {
			row:  `{`,
			want: "expected a JSON object",
		},
		"ranking without a rejected answer": {
			row:     `{"messages":[` + user + `],"chosen":` + reply + `}`,
			ranking: true,
			want:    "expected chosen and rejected answers",
		},
		"ranking after an answer": {
			row:     `{"messages":[` + user + `,` + reply + `],"chosen":` + reply + `,"rejected":` + reply + `}`,
			ranking: true,
			want:    "expected an odd number of turns",
		},
		"ranking of the user's words": {
			row:     `{"messages":[` + user + `],"chosen":` + user + `,"rejected":` + reply + `}`,
			ranking: true,
			want:    "expected chosen and rejected answers",
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantInvalid(t, tl.check(t.Context(), "f.jsonl", []byte(c.row), c.ranking, shortOptions()), c.want)
		})
	}

	t.Run("a good ranking passes", func(t *testing.T) {
		good := `{"messages":[` + system + `,` + user + `],"chosen":` + reply + `,"rejected":` + reply + "}\n"
		if err := tl.check(t.Context(), "f.jsonl", []byte(good), true, shortOptions()); err != nil {
			t.Error(err)
		}
	})
}

// TestTokensAreCounted: the counter says 90 tokens of the first row, 30 of the second.
func TestTokensAreCounted(t *testing.T) {
	tl := tool(t)
	tl.Python = script(t, "echo '[90, 30]'")
	err := tl.check(t.Context(), "f.jsonl", []byte(longRow+longRow), false, shortOptions())
	wantInvalid(t, err, "f.jsonl:1: 154 tokens (64 of them for template and images) "+
		"are more than trainer.options.cutoff 100")
}

func TestPairsWithoutWhatTheObjectiveNeedsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*domain.Pair){
		"no prompt":     func(p *domain.Pair) { p.Prompt = "" },
		"equal answers": func(p *domain.Pair) { p.Rejected = p.Chosen },
	} {
		t.Run(name, func(t *testing.T) {
			j := someJob(trainer.DPO)
			change(&j.Pairs[3])
			_, _, err := rendered(t, tool(t), DefaultOptions(), j, domain.ArtifactBase, domain.ArtifactBase)
			wantInvalid(t, err, "row 4 of job j")
		})
	}
}

// TestADrainWhileTokensAreCountedIsNoFault of the rows.
func TestADrainWhileTokensAreCountedIsNoFault(t *testing.T) {
	tl := tool(t)
	tl.Python = script(t, "exec sleep 60")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := fault.New(fault.Transient, "the worker drains")
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })

	if err := tl.check(ctx, "f.jsonl", []byte(longRow), false, shortOptions()); !errors.Is(err, why) {
		t.Errorf("error = %v, want %v", err, why)
	}
}
