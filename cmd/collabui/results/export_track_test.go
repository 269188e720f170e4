package results

import (
	"cmp"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// tracked is what a tracker has.
type tracked struct {
	Runs, Parameters int
	Ended            bool
	Curves           map[string][][2]float64 // steps and values
}

// TestOtherToolsKeepATrackedRunOnce logs a run to MLflow, Weights & Biases and TensorBoard with the program in python/,
// again and again: while the run is open, after a file was cut off, and after its end. Each has every value once.
func TestOtherToolsKeepATrackedRunOnce(t *testing.T) {
	python, program := toolsPython(t), filepath.Join(t.TempDir(), "collabui")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("go build = %v, want a program\n%s", err, out)
	}
	t.Setenv("COLLABUI", program)

	for tracker, to := range map[string]string{"mlflow": "here", "wandb": "team/here", "tensorboard": "curves"} {
		t.Run(tracker, func(t *testing.T) {
			dir, data, b := t.TempDir(), t.TempDir(), &store.Memory{}
			run := curvedRun(t, b)
			serve(t, b, data)
			log := func(lines ...string) {
				t.Helper()
				c := exec.CommandContext(t.Context(), python, absolute(t, "../../../python/collabui_track.py"),
					string(run), tracker, "--to", to, "--data", data)
				c.Stdin, c.Dir = strings.NewReader(strings.Join(lines, "\n")), dir
				c.Env = append(os.Environ(), "WANDB_MODE=offline", "DO_NOT_TRACK=true",
					"MLFLOW_TRACKING_URI=sqlite:///"+dir+"/mlflow.db")
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("collabui_track.py ends with %v, want success\n%s", err, out)
				}
			}

			log(`{"event":"progress"}`, `{"event":"epoch","epoch":1}`, `{"event":"epoch","epoch":2}`)
			open := readWith[tracked](t, tracker, dir)
			hasOnce(t, open, 76, nil)
			cutOff(t, dir)
			put(t, b, run.End(), runs.End{Best: 2})
			serve(t, b, data)
			log(`{"event":"epoch","epoch":3}`)
			log()
			ended := readWith[tracked](t, tracker, dir)
			hasOnce(t, ended, 79, [][2]float64{{2, 0.75}})
			if tracker != "tensorboard" && ended.Parameters < 50 {
				t.Errorf("%s has %d parameters, want 50 or more", tracker, ended.Parameters)
			}
			if open.Ended || tracker == "mlflow" && !ended.Ended {
				t.Errorf("%s has the run as ended: %v, then %v; want only the latter", tracker, open.Ended, ended.Ended)
			}
		})
	}
}

// serve writes objects where the local S3 server of a data folder keeps them.
func serve(t *testing.T, b *store.Memory, data string) {
	t.Helper()
	dir := filepath.Join(data, "services", "s3", "collabui")
	all, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		body, err := b.Get(t.Context(), o.Key)
		if err == nil {
			err = disk.Write(dir, o.Key, body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// absolute returns a path that is the same in every folder.
func absolute(t *testing.T, path string) string {
	t.Helper()
	out, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// cutOff cuts off the files of Weights & Biases and TensorBoard, as a program that is killed may leave them.
func cutOff(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"wandb/offline-run-*/*.wandb", "curves/*/*tfevents*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			info, err := os.Stat(name)
			if err == nil {
				err = os.Truncate(name, info.Size()*6/10)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// hasOnce checks what a tracker has of the run of curvedRun: the number of all points, and some curves, among them the
// result of an evaluation.
func hasOnce(t *testing.T, got tracked, points int, result [][2]float64) {
	t.Helper()
	want := map[string][][2]float64{
		"curve/val_rate":                   {{0, 0.25}, {2, 0.75}},
		"curve/rollout_rate":               {{1, 0.25}, {2, 0.5}},
		"curve/pairs":                      {{1, 7}, {2, 14}},
		"training/agent_0/loss":            {{1, 0.7}, {2, 0.25}}, // there is no update of epoch 1
		"training/agent_1/loss":            {{1, 0.7}, {2, 0.5}, {3, 0.7}, {4, 0.25}},
		"updates/agent_0/kl":               {{2, 0.5}},
		"updates/agent_1/kl":               {{1, 0.25}, {2, 0.5}},
		"updates/agent_0/kept":             {{1, 1}, {2, 0}},
		"updates/agent_0/pairs":            {{1, 5}, {2, 5}},
		"results/epoch-0002/trained-2/val": result,
	}
	has := 0
	for name, curve := range got.Curves {
		slices.SortFunc(curve, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
		has += len(curve)
		for i := 1; i < len(curve); i++ {
			if curve[i][0] == curve[i-1][0] {
				t.Errorf("%s has the steps %g and %g, want each once", name, curve[i-1][0], curve[i][0])
			}
		}
	}
	for name, w := range want {
		same := slices.EqualFunc(got.Curves[name], w, func(g, w [2]float64) bool {
			return g[0] == w[0] && math.Abs(g[1]-w[1]) < 1e-6 // some keep float32
		})
		if !same {
			t.Errorf("%s has %v, want %v", name, got.Curves[name], w)
		}
	}
	if got.Runs != 1 || has != points {
		t.Errorf("there are %d runs with %d points, want 1 with %d", got.Runs, has, points)
	}
}
