package external

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

func TestCopiesFollowTheWeights(t *testing.T) {
	for name, c := range map[string]struct {
		weights []float64
		want    string
	}{
		"equal":    {weights: []float64{2, 2, 2}, want: "abc"},
		"none":     {weights: []float64{0, 0, 0}, want: "abc"},
		"uneven":   {weights: []float64{1, 2, 1, 0}, want: "abbc"},
		"one pair": {weights: []float64{0, 0, 1}, want: "ccc"},
	} {
		t.Run(name, func(t *testing.T) {
			var pairs []domain.Example
			for i, w := range c.weights {
				pairs = append(pairs, domain.Example{Prompt: string(rune('a' + i)), Weight: w})
			}

			got := ""
			for _, p := range Copies(pairs) {
				got += p.Prompt
			}
			if got != c.want {
				t.Errorf("Copies of weights %v = %q, want %q", c.weights, got, c.want)
			}
		})
	}
}

// TestDevicesAreTakenTogether: a job that waits holds no part of what it needs.
func TestDevicesAreTakenTogether(t *testing.T) {
	d := NewDevices([]string{"0", "1"})
	one, release, err := d.Take(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the job was cancelled")
	cancel(why)
	if _, _, err := d.Take(ctx, 2); !errors.Is(err, why) {
		t.Errorf("Take(2) of a cancelled job: %v, want %v", err, why)
	}
	if _, _, err := d.Take(t.Context(), 3); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Take(3) of two devices: %v, want an invalid fault", err)
	}

	release()
	both, _, err := d.Take(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slices.Sorted(slices.Values(both)), []string{"0", "1"}) {
		t.Errorf("Take(2) after %v came back = %v, want both devices", one, both)
	}
}

func TestAnArtifactHasTheDigestOfItsFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(file, []byte("w"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &store.Memory{}
	a := domain.Artifact{Kind: domain.ArtifactLoRA, Rank: 8}
	a, digest, err := PutArtifact(t.Context(), b, a, map[string]string{"adapter_model.safetensors": file})
	if err != nil {
		t.Fatal(err)
	}

	raw, err := store.GetBlob(t.Context(), b, digest)
	if err != nil {
		t.Fatal(err)
	}
	got, err := domain.DecodeArtifact(raw)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(a) {
		t.Errorf("the stored artifact is %+v, want %+v", got, a)
	}
	if sum, want := got.Sums()["adapter_model.safetensors"], store.Sum([]byte("w")); sum != want {
		t.Errorf("hash of the file = %s, want %s", sum, want)
	}
}

func TestSecretsAreHiddenFromPrograms(t *testing.T) {
	for name, want := range map[string]bool{
		"COLLABUI_ANYTHING":      false,
		"SOME_API_KEY":           false,
		"SOME_PASSWORD_FILE":     false,
		"CUDA_VISIBLE_DEVICES":   false,
		"USE_V1":                 false,
		"PGPASSWORD":             false,
		"MYSQL_PWD":              false,
		"DB_PASS":                false,
		"DATABASE_URL":           false,
		"SENTRY_DSN":             false,
		"SLACK_WEBHOOK":          false,
		"GOOGLE_CREDENTIALS":     false,
		"OPENAI_APIKEY":          false,
		"WANDB_API_KEY_FILE":     false,
		"TEAM_ACCESS":            false, // which models may name
		"TEAM_ACCESS_FILE":       false,
		"KEYBOARD":               true,
		"PWD":                    true,
		"PATH":                   true,
		"TOKENIZERS_PARALLELISM": true,
		"HF_HOME":                true,
		"CUDA_PATH":              true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "x")
			t.Setenv("COLLABUI_MODEL_KEYS", "*_API_KEY, TEAM_*=api.example, *") // which does not mean PATH
			got := slices.ContainsFunc(environ("|USE_V1="), func(v string) bool {
				return strings.HasPrefix(v, name+"=")
			})
			if got != want {
				t.Errorf("the program sees %s: %v, want %v", name, got, want)
			}
		})
	}
}

// TestPoliciesHaveNumbersOnly writes tensors of every kind of number, and one of integers, which is not looked at.
func TestPoliciesHaveNumbersOnly(t *testing.T) {
	for kind, numbers := range map[string][2][]byte{
		"F32":  {{0, 0, 128, 63}, {0, 0, 192, 127}}, // 1, not a number
		"BF16": {{128, 63}, {128, 255}},             // 1, −∞
		"F16":  {{0, 60}, {0, 124}},                 // 1, ∞
		"F64":  {{0, 0, 0, 0, 0, 0, 240, 63}, {0, 0, 0, 0, 0, 0, 248, 127}},
		"I16":  {{255, 255}, nil},
	} {
		for i, last := range numbers {
			if last == nil {
				continue
			}
			data := append(slices.Repeat(numbers[0], 300_000), last...)
			const one = `{"a":{"dtype":%q,"shape":[%d],"data_offsets":[0,%d]},"__metadata__":{"format":"pt"}}`
			header := fmt.Sprintf(one, kind, len(data)/len(last), len(data))
			raw := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
			file := filepath.Join(t.TempDir(), "adapter_model.safetensors")
			if err := os.WriteFile(file, append(append(raw, header...), data...), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := WholeTensors(file); err != nil {
				t.Fatal(err)
			}
			if ok, err := finite(filepath.Base(file), file); err != nil || ok != (i == 0) {
				t.Errorf("%s that ends with % x: finite() = %v, %v; want %v", kind, last, ok, err, i == 0)
			}
		}
	}
}
