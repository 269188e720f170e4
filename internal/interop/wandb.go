package interop

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
)

//go:embed wandb.py
var wandbScript string

// Wandb is a run of Weights & Biases, by the official package: a program logs rows with it. Rows are numbered over all
// batches, and batches never change, so the number of rows that W&B has says what is left to log.
//
// WANDB_API_KEY, WANDB_MODE, WANDB_DIR and others belong to the package. The program has no other secrets: see needed.
type Wandb struct {
	Python          string // an interpreter with the package
	Entity, Project string // the entity may be empty

	in    io.WriteCloser
	out   *bufio.Reader
	child *exec.Cmd
	said  *strings.Builder // on its standard error
	have  int              // rows
	first map[string]int   // numbers of the first rows of batches, by name
}

// wandbEnd is how long the program may take to hand over what it has when it ends.
const wandbEnd = 2 * time.Minute

// Begin starts the program unless it runs.
func (w *Wandb) Begin(
	ctx context.Context, run string, params map[string]string, batches []Batch,
) (map[string]bool, error) {
	if w.child == nil {
		if err := w.start(ctx, run, params); err != nil {
			return nil, err
		}
	}
	w.first = map[string]int{}
	done, rows := map[string]bool{}, 0
	for _, b := range batches {
		w.first[b.Name] = rows
		rows += len(wandbRows(b))
		done[b.Name] = rows <= w.have
	}

	return done, nil
}

// needed matches the variables that the package needs: its own, and those by which Python finds packages, folders,
// proxies and certificates.
var needed = regexp.MustCompile(`^(WANDB_[A-Z0-9_]+|PATH|HOME|USER|LOGNAME|NETRC|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|` +
	`XDG_[A-Z]+_HOME|PYTHON[A-Z]+|VIRTUAL_ENV|LD_LIBRARY_PATH|(?i:https?|no|all)_(?i:proxy)|SSL_CERT_(FILE|DIR)|` +
	`REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)=`)

// environ returns the part of this process's environment that the package needs.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return !needed.MatchString(variable) })
}

func (w *Wandb) start(ctx context.Context, run string, params map[string]string) error {
	w.child = exec.CommandContext(ctx, w.Python, "-c", wandbScript)
	w.said = &strings.Builder{}
	w.child.Stderr, w.child.Env = w.said, environ()
	in, err := w.child.StdinPipe()
	if err != nil {
		return fault.As(fault.Fatal, err)
	}
	out, err := w.child.StdoutPipe()
	if err != nil {
		return fault.As(fault.Fatal, err)
	}
	w.in, w.out = in, bufio.NewReader(out)
	w.child.WaitDelay = wandbEnd
	w.child.Cancel = func() error {
		_ = in.Close() // it hands over what it has, and ends

		return os.ErrProcessDone
	}
	if err := w.child.Start(); err != nil {
		w.child = nil

		return fault.New(fault.Invalid, "start %s: %w", w.Python, err)
	}

	var answer struct{ Have int }
	err = w.ask(map[string]any{"project": w.Project, "entity": w.Entity, "id": run, "params": params}, &answer)
	w.have = answer.Have

	return err
}

// The axes of curves.
const (
	wandbEpoch = "epoch"
	wandbStep  = "optimiser_step"
)

// wandbRows returns the values of a batch as rows, those of one step of one axis together, in an order that is always
// the same.
func wandbRows(b Batch) []map[string]float64 {
	type place struct {
		axis string
		step int
	}
	var order []place
	rows := map[place]map[string]float64{}
	for _, p := range b.Points {
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
			continue // JSON has no such numbers
		}
		at := place{wandbEpoch, p.Step}
		if strings.HasPrefix(p.Name, "train_") {
			at.axis = wandbStep
		}
		if rows[at] == nil {
			order, rows[at] = append(order, at), map[string]float64{at.axis: float64(p.Step)}
		}
		rows[at][p.Tag()] = p.Value
	}
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(-cmp.Compare(a.axis, b.axis), cmp.Compare(a.step, b.step))
	})
	var out []map[string]float64
	for _, at := range order {
		out = append(out, rows[at])
	}

	return out
}

// Log logs the rows of a batch that W&B does not have.
func (w *Wandb) Log(_ context.Context, b Batch) error {
	first, rows := w.first[b.Name], wandbRows(b)
	if skip := min(max(w.have-first, 0), len(rows)); skip > 0 {
		first, rows = first+skip, rows[skip:]
	}
	if len(rows) == 0 {
		return nil
	}
	if err := w.ask(map[string]any{"first": first, "rows": rows}, nil); err != nil {
		return err
	}
	w.have = first + len(rows)

	return nil
}

// End finishes the run.
func (w *Wandb) End(context.Context) error { return w.Close() }

// Close ends the program. What it has logged is handed over or on disk then.
func (w *Wandb) Close() error {
	if w.child == nil {
		return nil
	}
	child := w.child
	w.child = nil
	_ = w.in.Close()
	end := time.AfterFunc(wandbEnd, func() { _ = child.Process.Kill() })
	defer end.Stop()
	if err := child.Wait(); err != nil {
		return fault.New(fault.Transient, "the program that logs to W&B ended with %w: %s", err, tail(w.said.String()))
	}

	return nil
}

// ask sends a line to the program and reads its answer.
func (w *Wandb) ask(line, out any) error {
	raw, err := json.Marshal(line)
	if err != nil {
		return fault.As(fault.Fatal, err)
	}
	_, err = w.in.Write(append(raw, '\n'))
	var answer []byte
	if err == nil {
		answer, err = w.out.ReadBytes('\n')
	}
	if err != nil {
		_ = w.Close()

		return fault.New(fault.Invalid, "the program that logs to W&B ended (%w): %s", err, tail(w.said.String()))
	}
	var failed struct{ Error string }
	if err := json.Unmarshal(answer, &failed); err != nil {
		return fault.As(fault.Fatal, err)
	}
	if failed.Error != "" {
		_ = w.Close()

		return wandbFault(w.Python, failed.Error)
	}
	if out == nil {
		return nil
	}

	return fault.As(fault.Fatal, json.Unmarshal(answer, out))
}

// wandbFault returns an error of the package: what the network does wrong is tried again.
func wandbFault(python, text string) error {
	kind := fault.Invalid
	if strings.HasPrefix(text, "CommError") || strings.Contains(text, "imeout") {
		kind = fault.Transient
	}
	if strings.HasPrefix(text, "ModuleNotFoundError") {
		return fault.New(kind, "%s: the interpreter %s has no package wandb", text, python)
	}

	return fault.New(kind, "W&B: %s", text)
}

// tail returns the end of what a program said.
func tail(said string) string {
	const most = 500
	said = strings.TrimSpace(said)

	return strings.ToValidUTF8(said[max(0, len(said)-most):], "")
}
