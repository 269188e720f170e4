package results

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// markup is what a hostile page may show and an agent repeat.
const markup = "</script><img src=x onerror=alert(1)> \x1b[2J \"quoted\" \\ \u2028 📱\n\tline # EOF"

// put records an object.
func put[T any](t *testing.T, b store.Bucket, o runs.Object[T], v T) store.Ref {
	t.Helper()
	_, ref, err := o.Record(t.Context(), b, func() (T, error) { return v, nil })
	if err != nil {
		t.Fatal(err)
	}

	return ref
}

// oddRun stores a run of one open epoch, each of whose slots ended in another way: 1 is solved at the second attempt,
// 2 failed, 3 has refused prompts, answers that do not parse and markup, 4 has not ended, 5 is not graded and has no
// steps.
func oddRun(t *testing.T) (runs.Run, store.Bucket) {
	t.Helper()
	b, run := &store.Memory{}, runs.Run("odd")
	s := spec.Default()
	s.Name, s.Epochs, s.Slots, s.Agents, s.Rounds = "odd", 2, 5, 2, 2
	put(t, b, run.Spec(), s)
	graph := put(t, b, run.Topology(1), domain.Topology{Agents: 2, Edges: [][2]int{{0, 1}}})

	plan := runs.Slots{Epoch: 1, System: runs.System{Policies: []runs.Policy{{Digest: "d0"}, {Digest: "d1"}}}}
	for n := 1; n <= 5; n++ {
		plan.Slots = append(plan.Slots, domain.Slot{Epoch: 1, Number: n, Task: domain.Task{
			Suite: "webtasks", Template: "template-" + markup, Split: domain.SplitTrain, Seed: 1<<64 - 1, MaxSteps: 3,
		}})
	}
	put(t, b, run.Slots(1), plan)

	end := func(slot, attempt int, e runs.Episode, steps ...runs.Step) {
		e.Slot, e.Attempt, e.Goal, e.Topology = plan.Slots[slot-1], attempt, "Say "+markup, graph
		for i, s := range steps {
			s.Number, s.Goal = i+1, e.Goal
			e.Steps = append(e.Steps, put(t, b, run.Step(1, slot, attempt, i+1), s))
		}
		e.Outcome.Steps = len(steps)
		put(t, b, run.Attempt(1, slot, attempt), e)
	}
	end(1, 1, runs.Episode{Void: "the browser crashed: " + markup}, oddStep("click"))
	end(1, 2, runs.Episode{Outcome: domain.Outcome{Success: true}}, oddStep("click"), oddStep("click"))
	end(2, 1, runs.Episode{Failed: "left out by me: " + markup})
	end(3, 1, runs.Episode{Outcome: domain.Outcome{Truncated: true, Refused: 1}}, oddStep(""), oddStep("click"))
	end(5, 1, runs.Episode{})

	graded := []domain.Credit{
		{Step: 1, Labels: []domain.Label{1, 0, -1, 1}}, {Step: 2, Labels: []domain.Label{1, 1, 1, 1}},
	}
	put(t, b, run.Credits(1, 1), runs.Credits{Critic: "oracle", Steps: graded})
	put(t, b, run.Pairs(1, 1), runs.Pairs{Pairs: []domain.Example{{Step: 1, Agent: 0, Round: 1, Chosen: "c"}}})

	item := "epoch-0001/trained-2/val"
	put(t, b, run.EvalEpisode(item, 1), runs.EvalEpisode{
		Task: plan.Slots[0].Task, Outcome: domain.Outcome{Success: true, Steps: 1},
		Steps: []runs.EvalStep{runs.NewEvalStep("goal", domain.Observation{}, oddStep("click").Decision)},
	})
	put(t, b, run.EvalEpisode(item, 2), runs.EvalEpisode{Outcome: domain.Outcome{Void: "crashed " + markup}})

	return run, b
}

// oddStep is a step of two agents in two rounds: an answer that clicks, or says nothing useful if click is empty, one
// that the model refused, one that was not asked for, and one with markup.
func oddStep(click string) runs.Step {
	o := domain.Observation{Elements: []domain.Element{{Index: 0, Role: "button", Text: markup, Visible: true}}}
	text, executed := "Reason: "+markup, domain.Action{Type: domain.ActionNone}
	var vote domain.Vote
	if click != "" {
		executed = domain.Action{Type: click}.At(0)
		text += "\nAction: " + executed.JSON()
		vote = domain.Vote{Canonical: executed.Canonical(o), Votes: 1, Rule: "scan"}
	}
	cells := []domain.Cell{
		agents.NewCell(0, 0, text, "prompt "+markup, o),
		{Agent: 0, Round: 1, Prompt: "prompt", Refused: "policy " + markup},
		{Agent: 1, Round: 0},
		agents.NewCell(1, 1, markup, "prompt", o),
	}
	cells[0].Usage, cells[0].LogProb, cells[0].Thought = domain.Usage{Prompt: 7, Answer: 3, Cached: 2}, -1.5, "hm"

	return runs.Step{Step: domain.Step{Observation: o, Decision: domain.Decision{
		Cells: cells, Executed: executed, AllRound: vote, LastOnly: vote,
	}}}
}

func exportOdd(t *testing.T, as string) (string, conversion) {
	t.Helper()
	run, b := oddRun(t)

	return exportFor(t, b, string(run), as)
}

func TestATrajectoryHasEveryAgentOfEveryDecision(t *testing.T) {
	dir, x := exportOdd(t, asATIF)
	if x.Episodes != 3 || x.Failed != 1 || x.Open != 1 || x.Files != 3 {
		t.Errorf("export = %+v, want 3 episodes in 3 files, a failed and an open slot", x)
	}
	type step struct {
		Source, Message string
		Extra           map[string]any
		Observation     struct {
			Results []struct {
				Refs []map[string]string `json:"subagent_trajectory_ref"`
			}
		}
	}
	var got struct {
		Steps     []step
		Extra     map[string]any
		Subagents []struct {
			ID    string `json:"trajectory_id"`
			Steps []step
		} `json:"subagent_trajectories"`
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "epoch-0001/0001.json"))), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Steps) != 4 || len(got.Subagents) != 4 || len(got.Steps[2].Observation.Results[0].Refs) != 2 {
		t.Fatalf("the trajectory has %d steps and %d sub-agents, want 4 and 4, two for each decision",
			len(got.Steps), len(got.Subagents))
	}
	if void := got.Extra["void_attempts"]; len(void.([]any)) != 1 || got.Extra["success"] != true {
		t.Errorf("the trajectory says %v, want success and one void attempt", got.Extra)
	}
	first := got.Subagents[0]
	if first.ID != "step-1/agent-0" || len(first.Steps) != 4 || first.Steps[0].Message != "prompt "+markup {
		t.Errorf("the first sub-agent is %+v, want agent 0 of step 1 with two prompts and answers", first)
	}
	if answer := first.Steps[1].Extra; answer["label"] != "right" || answer["won"] != true {
		t.Errorf("the first answer is %v, want right and the winner", answer)
	}
	refused := first.Steps[3]
	if refused.Extra["refused"] == nil || refused.Extra["label"] != "wrong" || refused.Extra["pairs"] != 1. {
		t.Errorf("the second answer is %v, want refused, labelled wrong, with one pair", refused.Extra)
	}
	if last := got.Subagents[1].Steps; len(last) != 2 || last[1].Extra["parse_error"] == nil {
		t.Errorf("agent 1 has the steps %+v, want one answer, which does not parse", last)
	}
}

func TestALogHasEverySlotThatHasEnded(t *testing.T) {
	dir, x := exportOdd(t, asInspect)
	if x.Episodes != 4 || x.Failed != 2 || x.Open != 1 || x.Files != 2 {
		t.Errorf("export = %+v, want 4 episodes, 2 that failed and an open one in 2 files", x)
	}
	files := unzip(t, filepath.Join(dir, "rollouts-epoch-0001.eval"))
	for name, wants := range map[string][]string{
		"samples/1_epoch_1.json": {
			`"error_retries":[{"message":"the browser crashed: </script>`, `"label":"right"`, `"value":1`,
			`"tool_choice":"auto"`, `"type":"reasoning"`,
		},
		"samples/2_epoch_1.json": {`"error":{"message":"left out by me: </script>`, `"messages":[]`},
		"samples/3_epoch_1.json": {`"stop_reason":"content_filter"`, `"parse_error":`, "No answer of any agent"},
		"header.json":            {`"status":"started"`, `"sample_ids":[1,2,3,5]`, `"scored_samples":3`},
	} {
		for _, want := range wants {
			if !strings.Contains(files[name], want) {
				t.Errorf("%s is %s, want %s in it", name, files[name], want)
			}
		}
	}
	if strings.Contains(files["samples/2_epoch_1.json"], `"scores"`) {
		t.Errorf("the failed slot is %s, want no score", files["samples/2_epoch_1.json"])
	}
}

// unzip returns the files of an archive.
func unzip(t *testing.T, file string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(raw)
	}

	return out
}

func TestExportRefusesWhatAFormatCannotHave(t *testing.T) {
	run, b := oddRun(t)
	for name, o := range map[string]exportOptions{
		"xml": {as: "xml"}, "best": {as: asATIF, epoch: "best"}, "--line": {as: asATIF, line: "l"},
		"from 1": {as: asATIF, epoch: "0"},
	} {
		o.out = filepath.Join(t.TempDir(), "out")
		err := o.check([]string{string(run)})
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), name) {
			t.Errorf("check of %+v = %v, want an invalid fault that names %s", o, err, name)
		}
	}
	o := exportOptions{as: asATIF, epoch: "2", out: filepath.Join(t.TempDir(), "out")}
	if _, err := exportAs(t.Context(), b, string(run), o); app.ExitCode(err) != app.ExitNotFound {
		t.Errorf("export of epoch 2 = %v, want that it has not begun", err)
	}
	if _, err := os.Stat(o.out); err == nil {
		t.Error("export wrote a folder, want none without an episode")
	}
}
