package interop_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/records/runs"
)

const atifText = `{"schema_version": "ATIF-v1.6", "session_id": "s", "trajectory_id": "t",
	"agent": {"name": "terminus", "version": "2", "model_name": "m"},
	"steps": [
		{"step_id": 1, "source": "user", "message": "Make it work"},
		{"step_id": 2, "source": "agent", "message": [{"type": "text", "text": "I look."},
			{"type": "image", "source": {"path": "x.png"}}], "reasoning_content": "hm",
			"tool_calls": [{"tool_call_id": "c", "function_name": "shell", "arguments": {"keys": "ls"}}],
			"observation": {"results": [{"source_call_id": "c", "content": "a.txt",
				"subagent_trajectory_ref": [{"trajectory_id": "inner"}]}]},
			"metrics": {"prompt_tokens": 5, "completion_tokens": 2}}],
	"subagent_trajectories": [{"trajectory_id": "inner", "steps": [{"source": "agent", "message": "I help."}]}],
	"final_metrics": {"total_prompt_tokens": 5, "total_completion_tokens": 2, "extra": {"success": true}}}`

const inspectText = `{"version": 2, "status": "success", "eval": {"task": "sums", "model": "m/1"}, "samples": [
	{"id": 7, "epoch": 2, "input": "1+1", "scores": {"match": {"value": "C"}},
		"model_usage": {"m/1": {"total_tokens": 9}},
		"messages": [{"role": "user", "content": "1+1"},
			{"role": "assistant", "content": [{"type": "reasoning", "reasoning": "two"}, {"type": "text", "text": "2"},
				{"type": "image", "image": "data:image/png;base64,AAAA"}, {"type": "image", "image": "https://x/y.png"}],
				"tool_calls": [{"id": "a", "function": "add", "arguments": {"a": 1}}]},
			{"role": "tool", "function": "add", "content": "2"}]}]}`

func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

func TestTrajectoriesOfOtherProgramsAreRead(t *testing.T) {
	dir := written(t, map[string]string{
		"a/trajectory.json": atifText, "b.json": inspectText, "c.json": `{"other": 1}`, "d.txt": atifText,
	})
	got, err := interop.Trajectories(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []interop.Trajectory{
		{
			File: "a/trajectory.json", ID: "t", Format: "ATIF", Task: "Make it work", Agent: "terminus", Model: "m",
			Scores: []string{"success true"}, Tokens: 7,
			Turns: []interop.Message{
				{Role: "user", Text: "Make it work"},
				{
					Role: "agent", Text: "I look.(image)", Reasoning: "hm",
					Calls:   []interop.ToolCall{{Name: "shell", Arguments: `{"keys": "ls"}`}},
					Results: []string{"a.txt"},
					Inner: []interop.Inner{
						{Name: "inner", Turns: []interop.Message{{Role: "agent", Text: "I help."}}},
					},
					Facts: []interop.ToolValue{
						{Name: "completion_tokens", Value: "2"}, {Name: "prompt_tokens", Value: "5"},
					},
				},
			},
		},
		{
			File: "b.json", ID: "7, epoch 2", Format: "Inspect", Task: "sums", Model: "m/1",
			Scores: []string{"match C"}, Tokens: 9,
			Turns: []interop.Message{
				{Role: "user", Text: "1+1"},
				{
					Role: "assistant", Text: "2(image)", Reasoning: "two",
					Images: []string{"data:image/png;base64,AAAA"},
					Calls:  []interop.ToolCall{{Name: "add", Arguments: `{"a": 1}`}},
				},
				{Role: "tool add", Text: "2"},
			},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestALogOfInspectThatWeWroteIsRead(t *testing.T) {
	var out bytes.Buffer
	log := interop.NewInspectLog(&out, time.Now(), "val", "trained-4", nil)
	log.Evaluated(3, runs.EvalEpisode{Goal: "Press Send", Outcome: domain.Outcome{Success: true, Steps: 1}}, false)
	if err := log.Close(true); err != nil {
		t.Fatal(err)
	}
	dir := written(t, map[string]string{"log.eval": out.String()})
	got, err := interop.Trajectories(filepath.Join(dir, "log.eval"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].ID != "3" || got[0].Task != "val" || got[0].Model != "trained-4" ||
		!reflect.DeepEqual(got[0].Scores, []string{"success 1"}) {
		t.Errorf("got %+v, want sample 3 with its score", got)
	}
}

func TestWhatIsNoTrajectoryIsRefused(t *testing.T) {
	dir := written(t, map[string]string{
		"a.json": `{"other": 1}`, "b.json": "no JSON", "c.eval": "PK broken", "d/e.txt": "x",
	})
	for name, want := range map[string]string{
		"a.json": "neither a trajectory of ATIF nor a log of Inspect", "b.json": "no JSON object", "c.eval": "zip",
		"d": "has no trajectory", "none": "no such file",
	} {
		_, err := interop.Trajectories(filepath.Join(dir, name))
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an invalid fault with %q", name, err, want)
		}
	}
}
