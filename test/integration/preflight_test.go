//go:build integration

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWhatCannotEndIsNotStarted tries to start runs and an experiment that could not end. Each is refused within ten
// seconds, with what to do, and its name stays free.
func TestWhatCannotEndIsNotStarted(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification)
	m.must("up")
	write := func(name, more string) string { return m.write(name, specification+more) }
	const judge = "\nmodels: {judge: {base_url: 'http://127.0.0.1:9/v1', model: j%s}}\ncritic: {model: judge}\n"
	key, dead := fmt.Sprintf(judge, ", key: SOME_API_KEY"), fmt.Sprintf(judge, "")
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"a key":   {[]string{"train", write("key.yaml", key)}, []string{"models.judge", "or SOME_API_KEY_FILE"}},
		"a model": {[]string{"finetune", write("dead.yaml", dead)}, []string{"connection refused", "start its server"}},
		"a server": {
			[]string{"train", write("away.yaml",
				"\nenvironment: shop\nenvironments: {shop: {suite: openenv, servers: ['ws://127.0.0.1:9/ws']}}\n")},
			[]string{"environment: ", "collabui envs serve NAME"},
		},
		"a key of an experiment": {
			[]string{"experiment", m.write("losses.yaml", strings.Replace(comparison, "kill.yaml", "key.yaml", 1))},
			[]string{"models.judge", "SOME_API_KEY"},
		},
		"a trainer": {
			[]string{"train", write("gpu.yaml", "\ntrainer: {name: llamafactory, options: {model: /nowhere}}\n")},
			[]string{"trainer: ", "/nowhere", "llamafactory-cli"},
		},
	} {
		began := time.Now()
		out, err := m.try(c.args...)
		if err == nil {
			t.Errorf("%s: it was started, want it refused", name)
		}
		m.contains(out, err, append(c.want, "was not started, and nothing was recorded"), c.args)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: refused after %s, want at most 10s", name, took)
		}
	}
	if n := m.count("/runs/"); n > 0 {
		t.Errorf("%d objects of runs are left, want none: %v", n, m.objects("/runs/"))
	}
	m.must("train", write("key.yaml", key+"budget: {money: 1}\n"), "--check")
	m.must("train", m.spec, "--detach") // under the same name
}
