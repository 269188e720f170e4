package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// curvedRun stores a run with two committed epochs: the first was not evaluated and kept the parent of agent 0, whose
// log-probabilities are not known; the second is complete. Names and reasons have markup.
func curvedRun(t *testing.T) (runs.Run, store.Bucket) {
	t.Helper()
	b, run := &store.Memory{}, runs.Run("curved")
	s := spec.Default()
	s.Name, s.Epochs, s.Agents = "curved", 3, 2
	s.Models = map[spec.Role]spec.Model{"gpt": {Model: "m"}}
	put(t, b, run.Spec(), s)
	for epoch := 1; epoch <= 2; epoch++ {
		e := runs.Epoch{
			Number: epoch, Pairs: 7 * epoch, FailedAll: 1, Rollouts: runs.NewResult("s", "train", epoch, 4, 0, ""),
		}
		for agent := range 2 {
			u := runs.Update{
				Agent: agent, Steps: 2, Probe: domain.Probe{Prompts: 3, ParseRate: 1, KL: 0.25 * float64(epoch)},
				Curve: []domain.TrainPoint{
					{Step: 1, Steps: 2, Loss: 0.7}, {Step: 2, Steps: 2, Loss: 0.5 / float64(epoch)},
				},
			}
			if epoch == 1 && agent == 0 {
				u.Kept, u.Probe.Unknown, u.Curve, u.Steps = "=1+1 "+markup, "the server tells none", nil, 0
			}
			u.Dataset = put(t, b, run.Dataset(epoch, agent), runs.Dataset{Agent: agent, Count: 5})
			e.Updates = append(e.Updates, put(t, b, run.Update(epoch, agent), u))
		}
		if epoch == 2 {
			val := runs.NewResult("trained-2", "val", 3, 4, 1, "")
			e.Val = &val
		}
		put(t, b, run.Epoch(epoch), e)
	}
	put(t, b, run.Result("epoch-0000/base-2/val"), runs.NewResult("base-2", "val", 1, 4, 0, ""))
	put(t, b, run.Result("epoch-0002/trained-2/val"), runs.NewResult("trained-2", "val", 3, 4, 1, "d "+markup))
	put(t, b, run.Result("epoch-0002/odd \"name\\/other.val"), runs.NewResult("x", "val", 0, 4, 0, ""))
	put(t, b, run.Call("ab01"), runs.Answer{Role: "critic", Model: "@" + markup, Epoch: 1, Cost: 0.5})

	return run, b
}

func TestCurvesHaveEveryEpochAndOptimiserStep(t *testing.T) {
	run, b := curvedRun(t)
	r, err := interop.Read(t.Context(), b, run)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][][2]float64{}
	for _, p := range r.Curves() {
		got[p.Tag()] = append(got[p.Tag()], [2]float64{float64(p.Step), p.Value})
	}
	for tag, want := range map[string][][2]float64{
		"val_success": {{0, 0.25}, {2, 0.75}}, "rollout_success": {{1, 0.25}, {2, 0.5}}, "pairs": {{1, 7}, {2, 14}},
		"agent_0/train_loss": {{1, 0.7}, {2, 0.25}}, // there is no update of epoch 1
		"agent_1/train_loss": {{1, 0.7}, {2, 0.5}, {3, 0.7}, {4, 0.25}},
		"agent_0/kl":         {{2, 0.5}}, "agent_1/kl": {{1, 0.25}, {2, 0.5}},
		"agent_0/kept_parent": {{1, 1}, {2, 0}}, "agent_0/pairs": {{1, 5}, {2, 5}},
	} {
		wantEqual(t, tag, got[tag], want)
	}
}

func TestTablesSayWhatIsNotKnown(t *testing.T) {
	run, b := curvedRun(t)
	dir, _ := exportFor(t, b, string(run), asCSV)
	rows := func(name string) [][]string {
		lines, err := csv.NewReader(strings.NewReader(read(t, filepath.Join(dir, name+".csv")))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}

		return lines
	}
	curve := rows("curve")
	wantEqual(t, "rows of the curve", len(curve), 4)
	wantEqual(t, "val of epochs 0 to 2", []string{curve[1][4], curve[2][4], curve[3][4]}, []string{"0.25", "", "0.75"})
	updates := rows("updates")
	wantEqual(t, "the update that was not taken", updates[1][6:13], []string{"", "", "", "", "", "", "1"})
	if kept := updates[1][13]; !strings.HasPrefix(kept, "'=1+1 </script>") {
		t.Errorf("the reason is %q, want an apostrophe before what a spreadsheet would compute", kept)
	}
	costs := rows("costs")
	wantEqual(t, "costs", []string{costs[1][1], costs[1][2][:2], costs[1][6]}, []string{"critic", "'@", "0.5"})

	dir, _ = exportFor(t, b, string(run), asJSON)
	var list []map[string]any
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "updates.json"))), &list); err != nil {
		t.Fatal(err)
	}
	kept := list[0]["kept"].(string)
	if len(list) != 4 || list[0]["kl"] != nil || list[1]["kl"] != 0.25 || !strings.HasPrefix(kept, "=1+1 </script>") {
		t.Errorf("updates.json is %v, want 4 updates, the first without a KL and with its reason as it is", list)
	}
}

// curve is a curve as another tool has it: steps and values.
type curve [][2]float64

// TestOtherToolsReadCurves reads event files with TensorBoard and metrics with the parser of prometheus_client.
func TestOtherToolsReadCurves(t *testing.T) {
	run, b := curvedRun(t)
	finished, _ := testrun.Learned(t)
	for name, b := range map[string]store.Bucket{string(run): b, "small": finished.Bucket} {
		r, err := interop.Read(t.Context(), b, runs.Run(name))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]curve{}
		for _, p := range r.Curves() {
			want[p.Tag()] = append(want[p.Tag()], [2]float64{float64(p.Step), p.Value})
		}
		dir, _ := exportFor(t, b, name, asTensorBoard)
		got := readWith[map[string]curve](t, "tensorboard", dir)
		if len(got) != len(want) || len(got) == 0 {
			t.Errorf("TensorBoard has %d curves of %s, want %d", len(got), name, len(want))
		}
		for tag := range want {
			same := len(got[tag]) == len(want[tag])
			for i := 0; same && i < len(want[tag]); i++ {
				g, w := got[tag][i], want[tag][i]
				same = g[0] == w[0] && math.Abs(g[1]-w[1]) <= 1e-6*math.Max(1, math.Abs(w[1])) // float32
			}
			if !same {
				t.Errorf("TensorBoard has %v of %s, want %v", got[tag], tag, want[tag])
			}
		}
		exportsMetrics(t, b, r)
	}
}

// exportsMetrics checks metrics of a run as prometheus_client parses them.
func exportsMetrics(t *testing.T, b store.Bucket, r interop.Records) {
	t.Helper()
	type sample struct {
		Name   string
		Labels map[string]string
		Value  float64
	}
	dir, _ := exportFor(t, b, string(r.Run), asOpenMetrics)
	got := readWith[[]sample](t, "openmetrics", dir)
	has := func(name string, value float64, labels map[string]string) {
		labels["run"] = string(r.Run)
		for _, s := range got {
			if s.Name == name && s.Value == value && runs.Digest(s.Labels) == runs.Digest(labels) {
				return
			}
		}
		t.Errorf("prometheus_client has %d samples, want %s with %v = %v among them", len(got), name, labels, value)
	}
	for _, e := range r.Results {
		epoch := strings.TrimLeft(strings.TrimPrefix(e.Folder, "epoch-000"), "-")
		has("collabui_result_rate", e.Rate, map[string]string{"epoch": epoch, "system": e.System, "split": e.Split})
	}
	last := r.Epochs[len(r.Epochs)-1]
	for _, u := range last.Updates {
		labels := map[string]string{"epoch": "2", "agent": string(rune('0' + u.Agent))}
		has("collabui_train_loss", u.Curve[len(u.Curve)-1].Loss, labels)
	}
}
