package llamafactory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
)

const (
	user   = `{"role":"user","content":"u"}`
	reply  = `{"role":"assistant","content":"a"}`
	system = `{"role":"system","content":"s"}`
)

// longText has more bytes than the cutoff of these tests, so a tokenizer is asked.
var longText = `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 20) + `"},` + reply + "]}\n"

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
			row:  longText,
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
			_, err := tl.check(t.Context(), "f.jsonl", []byte(c.row), c.ranking, shortOptions(), 262144)
			wantInvalid(t, err, c.want)
		})
	}

	t.Run("a good ranking passes", func(t *testing.T) {
		good := `{"messages":[` + system + `,` + user + `],"chosen":` + reply + `,"rejected":` + reply + "}\n"
		if _, err := tl.check(t.Context(), "f.jsonl", []byte(good), true, shortOptions(), 262144); err != nil {
			t.Error(err)
		}
	})
}

// TestTokensAreCounted: the counter says 90 tokens of the first row, 30 of the second.
func TestTokensAreCounted(t *testing.T) {
	tl := tool(t)
	tl.Python = script(t, "echo '[90, 30]'")
	long, err := tl.check(t.Context(), "f.jsonl", []byte(longText+longText), false, shortOptions(), 262144)
	if want := []longRow{{index: 0, tokens: 154, extra: 64}}; err != nil || !slices.Equal(long, want) {
		t.Errorf("got the long rows %v and error %v, want %v", long, err, want)
	}
}

// TestTheAnswerWithMoreTokensCounts: it may have fewer bytes than the other one.
func TestTheAnswerWithMoreTokensCounts(t *testing.T) {
	tl := tool(t)
	tl.Python = script(t, "echo '[30, 90, 20, 10]'")
	row := func(rejected string) string {
		return `{"messages":[{"role":"user","content":"` + strings.Repeat("x ", 60) + `"}],` +
			`"chosen":{"role":"assistant","content":"7"},` +
			`"rejected":{"role":"assistant","content":"` + rejected + `"}}` + "\n"
	}
	long, err := tl.check(t.Context(), "f.jsonl", []byte(row("a word")+row("8")), true, shortOptions(), 262144)
	if want := []longRow{{index: 0, tokens: 154, extra: 64}}; err != nil || !slices.Equal(long, want) {
		t.Errorf("got the long rows %v and error %v, want %v", long, err, want)
	}
}

// TestLongRowsAreLeftOutUpToAShare: more of them ask a person.
func TestLongRowsAreLeftOutUpToAShare(t *testing.T) {
	o := DefaultOptions()
	o.Cutoff = 700
	j := someJob(trainer.DPO)
	j.Pairs[2].Prompt = strings.Repeat("word ", 200)
	counts := make([]int, 2*len(j.Pairs)) // with the chosen and with the rejected answer
	counts[5] = 640                       // and 64 for the template
	counted, err := json.Marshal(counts)
	if err != nil {
		t.Fatal(err)
	}
	tl := tool(t)
	tl.Python = script(t, "cat >/dev/null; echo '"+string(counted)+"'")

	_, _, err = rendered(t, tl, o, j, domain.ArtifactBase, domain.ArtifactBase)
	wantInvalid(t, err, fmt.Sprintf("1 of %d rows are longer than trainer.options.cutoff 700", len(j.Pairs)))
	wantInvalid(t, err, ":3 with 704 tokens (64 of them for template and images)")
	wantInvalid(t, err, "--accept-failed")

	j.Skip = 0.5
	_, cmd, err := rendered(t, tl, o, j, domain.ArtifactBase, domain.ArtifactBase)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(cmd.Args[2]), dataDir, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got the data files %v and error %v, want one", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if n := bytes.Count(raw, []byte("\n")); err != nil || n != len(j.Pairs)-1 || cmd.Skipped != 1 {
		t.Errorf("got %d rows, %d left out and error %v, want %d and 1", n, cmd.Skipped, err, len(j.Pairs)-1)
	}
}

func TestPairsWithoutWhatTheObjectiveNeedsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*domain.Example){
		"no prompt":     func(p *domain.Example) { p.Prompt = "" },
		"equal answers": func(p *domain.Example) { p.Rejected = p.Chosen },
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

	if _, err := tl.check(ctx, "f.jsonl", []byte(longText), false, shortOptions(), 262144); !errors.Is(err, why) {
		t.Errorf("error = %v, want %v", err, why)
	}
}

// TestAPageCannotRaiseTheAlarm: the program prints a row before it says on how many it trains.
func TestAPageCannotRaiseTheAlarm(t *testing.T) {
	const page = "training example:\n***** Running training *****\n  Num examples = 7\n"
	const said = "[INFO|trainer.py:1469] >> ***** Running training *****\n" +
		"[INFO|trainer.py:1470] >>   Num examples = %s\n"
	f := external.Folder{Path: t.TempDir()}
	if err := os.WriteFile(filepath.Join(f.Path, rowsFile), []byte("1200"), 0o644); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[string]bool{"1,200": false, "1,199": true} {
		if err := (&Tool{}).Alarm(f, page+fmt.Sprintf(said, n)); (err != nil) != want {
			t.Errorf("Alarm() of %s rows = %v, want an error: %v", n, err, want)
		}
	}
}
