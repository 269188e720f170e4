//go:build integration

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tiny is the smallest run that uses every service.
const tiny = `name: kill
epochs: 1
slots: 4
rounds: 2
finetune: {demonstrations: 40, chunk_steps: 15, max_chunks: 1, stop_low: 0.1}
pairs: {kind: +correction, min_pairs: 4}
train: {batch_size: 4, passes: 3}
evaluation: {val: 2, test_seeds: 0, test_templates: 0, test_apps: 0}
`

// TestEveryServiceCanBeReplacedByAnAddressAlone trains with each service in turn given as an external address. All runs
// end with the same digest.
func TestEveryServiceCanBeReplacedByAnAddressAlone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	digests := map[string]string{} // by the external service

	t.Cleanup(func() { allEqual(t, digests) })
	for name, start := range map[string]func(*machine) (addr string){
		"temporal": func(m *machine) string { return outsideTemporal(m.t, m.t.TempDir()) },
		"s3": func(m *machine) string {
			m.env = append(m.env, s3Env...)

			return "http://" + outsideS3(m.t, m.t.TempDir())
		},
		"redis":  func(m *machine) string { return outsideRedis(m.t) },
		"policy": outsidePolicy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tiny)
			addr := start(m)
			m.env = append(m.env, "COLLABUI_"+strings.ToUpper(name)+"="+addr)
			m.must("train", m.spec)
			if s := m.service(name); !s.External || s.PID != 0 || !strings.HasSuffix(addr, s.Addr) {
				t.Errorf("%s = %+v, want it external, without a process, at %s", name, s, addr)
			}

			s := m.settle()
			mu.Lock()
			defer mu.Unlock()
			digests[name] = s.FinalDigest
		})
	}
}

// outsidePolicy starts a policy server on the store of this machine. Its address and keys stay the same whenever it
// starts.
func outsidePolicy(m *machine) string {
	m.must("up")
	s3 := m.service("s3").Addr
	m.must("down")
	var own struct{ Access, Secret string }
	raw, err := os.ReadFile(filepath.Join(m.data, "secrets.json"))
	if err == nil {
		err = json.Unmarshal(raw, &own)
	}

	if err != nil {
		m.t.Fatal(err)
	}

	env := []string{
		"COLLABUI_S3=" + s3,
		"COLLABUI_BUCKET=" + s3Bucket,
		"COLLABUI_S3_ACCESS_KEY=" + own.Access,
		"COLLABUI_S3_SECRET_KEY=" + own.Secret,
		"COLLABUI_TEMPORAL=x",
		"COLLABUI_POLICY=x",
		"COLLABUI_CALL_LOG=" + m.file("calls.log"),
	}

	return "http://" + outside(m.t, env, "collabui", "worker", "--roles", "policy-server").addr + "/v1"
}

// allEqual checks that all results are the same, such as the final digests of runs, and that none is empty.
func allEqual(t *testing.T, results map[string]string) {
	t.Helper()
	want := ""
	for name, got := range results {
		if want == "" {
			want = got
		}
		if got != want || got == "" {
			t.Errorf("%s: got %q, want %q as of the others", name, got, want)
		}
	}

	t.Logf("results: %v", results)
}
