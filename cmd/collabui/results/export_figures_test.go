package results

import (
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// curvedRun stores a run with two committed epochs: the first was not evaluated and kept the parent of agent 0, whose
// log-probabilities are not known; the second is complete. Names and reasons have markup.
func curvedRun(t *testing.T, b store.Bucket) runs.Run {
	t.Helper()
	run := runs.Run("curved")
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
				Agent: agent, Steps: 2,
				Probe: domain.Probe{
					Prompts: 3, ParseRate: 1, KL: 0.25 * float64(epoch),
					Chosen: domain.LogProbs{Policy: -1, Parent: -2}, Rejected: domain.LogProbs{Policy: -4, Parent: -3},
				},
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

	return run
}

func TestTablesSayWhatIsNotKnown(t *testing.T) {
	b := &store.Memory{}
	run := curvedRun(t, b)
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
	about := rows("run")
	_, stored, err := run.Spec().Must(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "the run", about[1], []string{"curved", stored.SHA256, "2", "false"})
	parameters := map[string]string{}
	for _, row := range rows("parameters") {
		parameters[row[1]] = row[2]
	}
	wantEqual(t, "parameters", []string{parameters["agents"], parameters["train.beta"], parameters["models.gpt.model"]},
		[]string{"2", "1", ""})
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
