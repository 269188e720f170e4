//go:build integration

package integration

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
)

const talking = `name: kill
environment: two-places
environments: {two-places: {suite: webtasks, groups: [two-places]}}
views: {kind: regions}
parameters: shared
critic: {messages: effect}
epochs: 1
slots: 8
rounds: 2
decoding: {temperatures: [1], top_p: 1}
finetune: {demonstrations: 40, chunk_steps: 20, max_chunks: 1}
pairs: {kind: +resist, min_pairs: 1}
train: {batch_size: 4, passes: 1, sft: 0.5}
gates: {min_parse: 0, max_val_drop: 1}
evaluation: {val: 2, test_seeds: 0, test_templates: 0, test_apps: 0}
`

// TestKillWhileReadersAreSampledAgain kills the worker twice while it labels messages, when some readers of a message
// have answered without it and others have not. The labels and the policy are those of an undisturbed run.
func TestKillWhileReadersAreSampledAgain(t *testing.T) {
	t.Parallel()
	unbroken := newMachine(t, talking)
	unbroken.must("train", unbroken.spec)
	want := unbroken.settle()
	labels := unbroken.labels()
	unbroken.must("down")
	effects := map[domain.Label]int{}
	for _, steps := range labels {
		for _, step := range steps {
			for _, effect := range step.Effects {
				effects[step.Labels[effect.Cell]]++
			}
		}
	}
	if effects[domain.Positive] == 0 {
		t.Fatalf("labels of messages: %v, want some message that helped", effects)
	}

	m := newMachine(t, talking)
	first, second := m.file("first"), m.file("second")
	m.env = append(m.env, "COLLABUI_FAILPOINT=ask.reader@5=kill:"+first+",ask.reader@9=kill:"+second)
	m.must("train", m.spec, "--detach")
	if got := m.settle(); got.FinalDigest != want.FinalDigest {
		t.Errorf("final digest = %s, want %s of the undisturbed run", got.FinalDigest, want.FinalDigest)
	}
	if got := m.labels(); !reflect.DeepEqual(got, labels) {
		t.Errorf("labels = %+v, want those of the undisturbed run: %+v", got, labels)
	}
	for _, mark := range []string{first, second} {
		if _, err := os.Stat(mark); err != nil {
			t.Errorf("%v, want the mark of a worker that died while it sampled a reader again", err)
		}
	}
}

// labels returns the labels and effects of all slots by their path. The record has cached tokens, too, whose number
// depends on when a server was started.
func (m *machine) labels() map[string][]domain.Credit {
	m.t.Helper()
	out := map[string][]domain.Credit{}
	for _, path := range m.objects("/credit.json") {
		var credits runs.Credits
		unseal(m.t, path, &credits)
		name, err := filepath.Rel(m.data, path)
		if err != nil {
			m.t.Fatal(err)
		}
		out[strings.TrimPrefix(name, "services/s3/")] = credits.Steps
	}

	return out
}
