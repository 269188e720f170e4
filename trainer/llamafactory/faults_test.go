package llamafactory_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/trainer/llamafactory"
)

// TestFaultsAreToldApart: what no retry helps is invalid, and the error says what to do.
func TestFaultsAreToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		standin string
		program string
		options func(*testing.T, *llamafactory.Options)
		want    string
	}{
		"out of memory with one row": {
			standin: "exit@2=torch.OutOfMemoryError:+CUDA+out+of+memory.+Tried+to+allocate slow=300",
			options: func(_ *testing.T, o *llamafactory.Options) { o.PerDevice = 1 },
			want:    "cutoff",
		},
		"missing package": {
			standin: "exit@2=ModuleNotFoundError:+No+module+named+peft slow=300",
			want:    "not installed completely",
		},
		"unknown error": {
			standin: "exit@2=SomethingElse slow=300",
			want:    "SomethingElse",
		},
		"dropped row": {
			standin: "drop slow=300",
			want:    "trains on 19 rows instead of 20",
		},
		"missing program": {
			program: "/nowhere/llamafactory-cli",
			want:    "COLLABUI_LLAMAFACTORY",
		},
		"unknown key": {
			options: func(t *testing.T, o *llamafactory.Options) {
				t.Setenv("COLLABUI_TRAINER_OPTIONS", "bogus")
				o.Extra = map[string]string{"bogus": "1"}
			},
			want: "does not know a key",
		},
		"too few GPUs": {
			options: func(_ *testing.T, o *llamafactory.Options) { o.Devices, o.PerDevice = 2, 1 },
			want:    "asks for 2 GPUs, this worker has 0",
		},
		"torn model": {
			options: func(t *testing.T, o *llamafactory.Options) {
				if err := os.Truncate(filepath.Join(o.Model, "model.safetensors"), 1000); err != nil {
					t.Fatal(err)
				}
			},
			want: "not whole",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(standin.Variable, c.standin)
			h := newHost(t, &store.Memory{})
			if c.program != "" {
				h.tool.Program = c.program
			}
			j := job(t, func(o *llamafactory.Options) {
				if c.options != nil {
					c.options(t, o)
				}
			})

			_, err := h.train(t.Context(), j)
			if err == nil {
				t.Fatalf("the job succeeded, want an error with %q", c.want)
			}
			if got := fault.KindOf(err); got != fault.Invalid {
				t.Errorf("kind of the fault = %s, want %s: %v", got, fault.Invalid, err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

// TestOutOfMemoryIsTriedAgainWithFewerRowsTogether: the same steps on the same rows, in more passes.
func TestOutOfMemoryIsTriedAgainWithFewerRowsTogether(t *testing.T) {
	options := func(o *llamafactory.Options) { o.PerDevice = 2 }
	alone := newHost(t, &store.Memory{})
	want, err := alone.train(t.Context(), job(t, options))
	if err != nil {
		t.Fatal(err)
	}

	t.Setenv(standin.Variable, "exit@6=torch.OutOfMemoryError:+CUDA+out+of+memory slow=100")
	b := &store.Memory{}
	first, second := newHost(t, b), newHost(t, b)
	_, err = first.train(t.Context(), job(t, options))
	if fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "goes on from its newest checkpoint") {
		t.Fatalf("got %v, want a transient fault that says how it goes on", err)
	}
	t.Setenv(standin.Variable, "")
	got, err := second.train(t.Context(), job(t, options)) // on another host
	if err != nil {
		t.Fatal(err)
	}
	if got.TensorDigest != want.TensorDigest || got.Steps != want.Steps {
		t.Errorf("got %d steps and the policy %s, want %d and %s",
			got.Steps, got.TensorDigest, want.Steps, want.TensorDigest)
	}
	if got.Report.PerDevice != 1 || want.Report.PerDevice != 0 {
		t.Errorf("reports say %d and %d rows per device, want 1, and 0 without an end",
			got.Report.PerDevice, want.Report.PerDevice)
	}
}

// TestACheckpointWithOtherBytesIsNotLoaded plants other bytes under the name of one file of the newest checkpoint, as
// whoever has a key that writes blobs can. Training programs load pickles, so they may see no file of that checkpoint.
func TestACheckpointWithOtherBytesIsNotLoaded(t *testing.T) {
	t.Setenv(standin.Variable, "kill@11")
	killed, j := &store.Memory{}, job(t, nil)
	if _, err := newHost(t, killed).train(t.Context(), j); err == nil {
		t.Fatal("the job succeeded, want its program killed")
	}
	t.Setenv(standin.Variable, "")

	before := filesOf(t, killed, 4)
	for path, sum := range filesOf(t, killed, 8) {
		if before[path] == sum {
			continue // both checkpoints have the file
		}
		t.Run(path, func(t *testing.T) {
			b := &store.Memory{}
			keys, err := store.Keys(t.Context(), killed, "")
			for _, key := range keys {
				body, e := killed.Get(t.Context(), key)
				_, e2 := b.PutOnce(t.Context(), key, body)
				err = errors.Join(err, e, e2)
			}
			if err != nil {
				t.Fatal(err)
			}
			b.Damage(store.BlobPrefix+sum, []byte("cos\nsystem\n(S'id'\ntR."))
			log, err := store.GetBlob(t.Context(), b, mustTrain(t, b, j).Report.Log.SHA256)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(log), "'step'"); n != 12-4 {
				t.Errorf("%d steps after the resume, want the %d after checkpoint 4: %s", n, 12-4, log)
			}
		})
	}
}

// filesOf returns the hashes of the files of a stored checkpoint by their paths.
func filesOf(t *testing.T, b store.Bucket, step int) map[string]string {
	t.Helper()
	key := fmt.Sprintf("%s-checkpoint-%06d.json", jobID, step)
	c, _, err := store.Must[struct {
		Files []domain.ArtifactFile `json:"files"`
	}](t.Context(), b, key)
	if err != nil || len(c.Files) == 0 {
		t.Fatalf("%s has the files %v, %v; want some", key, c.Files, err)
	}

	return domain.Artifact{Files: c.Files}.Sums()
}
