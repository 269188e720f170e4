package llamafactory

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
)

// data writes the data set's files and gives its name and the number of its rows. Every row is read back as the program would read it.
func (t *Tool) data(ctx context.Context, f external.Folder, j trainer.Job, o Options) (string, int, error) {
	if strings.TrimSpace(j.System) == "" {
		return "", 0, fault.New(fault.Invalid, "job %s has no system message: chat templates of trainer and server would put in different ones", j.ID)
	}
	rows := external.Copies(j.Pairs)
	for i, p := range rows {
		if p.Prompt == "" || p.Chosen == "" || j.Objective == trainer.DPO && (p.Rejected == "" || p.Rejected == p.Chosen) {
			return "", 0, fault.New(fault.Invalid, "row %d of job %s lacks a prompt or an answer, or its answers are equal", i+1, j.ID)
		}
		if j.Objective == trainer.SFT {
			rows[i].Rejected = ""
		}
	}
	files, err := synth.Export([]synth.Set{{Name: "data", System: j.System, Rows: rows}})
	if err != nil {
		return "", 0, fault.As(fault.Fatal, err)
	}
	name, file := "collabui_data", "data.sharegpt.jsonl"
	if j.Objective == trainer.DPO {
		name, file = "collabui_data_dpo", "data-dpo.sharegpt.jsonl"
	}
	if err := t.check(ctx, file, files[file], j.Objective == trainer.DPO, o); err != nil {
		return "", 0, err
	}
	dir := filepath.Join(f.Path, "data")
	for _, n := range []string{file, "dataset_info.json"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", 0, fault.As(fault.Transient, err)
		}
		if err := os.WriteFile(filepath.Join(dir, n), files[n], 0o644); err != nil {
			return "", 0, fault.New(fault.Transient, "write the data set: %w", err)
		}
	}
	for _, p := range rows {
		if p.Image == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, synth.ImageFile(p.Image))); err == nil {
			continue
		}
		if err := store.GetBlobFile(ctx, t.Bucket, p.Image, filepath.Join(dir, synth.ImageFile(p.Image))); err != nil {
			return "", 0, fmt.Errorf("screenshot of the data set: %w", err)
		}
	}
	return name, len(rows), nil
}

// row is one line as LLaMA-Factory reads it.
type row struct {
	Messages []synth.Message `json:"messages"`
	Chosen   *synth.Message  `json:"chosen"`
	Rejected *synth.Message  `json:"rejected"`
	Images   []string        `json:"images"`
}

// check refuses what the program would drop with a warning or cut in silence: a wrong order or number of turns, images without their place, rows longer than the cut-off.
func (t *Tool) check(ctx context.Context, file string, raw []byte, ranking bool, o Options) error {
	sc := bufio.NewScanner(bytes.NewReader(raw))
	sc.Buffer(nil, 64<<20)
	var texts []string // of each row: everything, with its longest answer
	var extra []int    // tokens beside the text: the template's and the images'
	for n := 1; sc.Scan(); n++ {
		var r row
		bad := func(format string, args ...any) error {
			return fault.New(fault.Invalid, "%s:%d: %s", file, n, fmt.Sprintf(format, args...))
		}
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			return bad("expected a JSON object: %v", err)
		}
		turns := r.Messages
		if len(turns) > 0 && turns[0].Role == "system" {
			turns = turns[1:]
		}
		if want := map[bool]int{true: 1, false: 0}[ranking]; len(turns) == 0 || len(turns)%2 != want {
			return bad("expected an %s number of turns behind the system message, not %d: LLaMA-Factory would drop the row", map[bool]string{true: "odd", false: "even"}[ranking], len(turns))
		}
		all, places := "", 0
		for i, m := range r.Messages {
			all, places = all+m.Content, places+strings.Count(m.Content, "<image>")
			if at := i - (len(r.Messages) - len(turns)); at >= 0 && m.Role != []string{"user", "assistant"}[at%2] {
				return bad("expected user and assistant in turn, not %q: LLaMA-Factory would drop the row", m.Role)
			}
		}
		if ranking {
			if r.Chosen == nil || r.Rejected == nil || r.Chosen.Role != "assistant" || r.Rejected.Role != "assistant" {
				return bad("expected chosen and rejected answers of the assistant: LLaMA-Factory would drop the row")
			}
			longest := r.Chosen.Content
			if len(r.Rejected.Content) > len(longest) {
				longest = r.Rejected.Content
			}
			all, places = all+longest, places+strings.Count(r.Chosen.Content, "<image>")
		}
		if places != len(r.Images) {
			return bad("expected as many images as places for them: %d and %d", len(r.Images), places)
		}
		texts, extra = append(texts, all), append(extra, templateTokens+len(r.Images)*(o.Pixels/pixelsPerToken+imageTokens))
	}
	if err := sc.Err(); err != nil {
		return fault.As(fault.Fatal, err)
	}
	return t.fits(ctx, file, texts, extra, o)
}

// What stands around the text of a row, at most: the markers of a chat template, and those of an image; vision models of the Qwen family see 28 × 28 pixels per token.
const (
	templateTokens = 64
	imageTokens    = 8
	pixelsPerToken = 28 * 28
)

//go:embed count.py
var count string

// fits refuses rows that are longer than the cut-off: LLaMA-Factory would cut their end in silence, and with it elements or messages. A token has at least one byte, so that short
// rows need no tokenizer; the others are counted by the model's own.
func (t *Tool) fits(ctx context.Context, file string, texts []string, extra []int, o Options) error {
	sure := true
	for i, s := range texts {
		sure = sure && len(s)+extra[i] <= o.Cutoff
	}
	if sure {
		return nil
	}
	program, err := t.program()
	if err != nil {
		return err
	}
	py := t.python(program)
	if py == "" {
		return fault.New(fault.Invalid, "%s: rows may be longer than trainer.options.cutoff (%d tokens), and nobody can count them here: set COLLABUI_PYTHON to an interpreter with the package tokenizers, or raise cutoff", file, o.Cutoff)
	}
	in, err := json.Marshal(texts)
	if err != nil {
		return fault.As(fault.Fatal, err)
	}
	c := exec.CommandContext(ctx, py, "-c", count, filepath.Join(o.Model, "tokenizer.json"))
	var said bytes.Buffer
	c.Stdin, c.Stderr, c.Env = bytes.NewReader(in), &said, external.Environ()
	out, err := c.Output()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) && !ended.Exited() {
		return fault.New(fault.Transient, "%s: the count of tokens was killed: %w", file, err)
	}
	var tokens []int
	if err == nil {
		err = json.Unmarshal(out, &tokens)
	}
	if err != nil || len(tokens) != len(texts) {
		return fault.New(fault.Invalid, "%s: rows may be longer than trainer.options.cutoff (%d tokens), and they could not be counted: %v %s", file, o.Cutoff, err, external.Tail(said.String()))
	}
	for i, n := range tokens {
		if n+extra[i] > o.Cutoff {
			return fault.New(fault.Invalid, "%s:%d: %d tokens (%d of them for template and images) are more than trainer.options.cutoff %d: LLaMA-Factory would cut the row's end in silence; raise cutoff", file, i+1, n+extra[i], extra[i], o.Cutoff)
		}
	}
	return nil
}
