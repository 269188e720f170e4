package synth

import (
	"strings"
	"testing"
)

const wait = `"Action: {\"action_type\":\"wait\"}"`

func TestCustomRowsAreRead(t *testing.T) {
	const file = `{"prompt":"Goal: x","chosen":` + wait + `}

{"prompt":[{"role":"user","content":"u"}],"chosen":[{"role":"assistant","content":` + wait + `}],` +
		`"rejected":{"role":"assistant","content":"no"}}`
	in, err := ReadRows("f", []byte(file), 2)
	if err != nil {
		t.Fatal(err)
	}
	rows := in.Rows
	if len(rows) != 2 || rows[0].Prompt != "Goal: x" || rows[1].Rejected != "no" {
		t.Fatalf("ReadRows() = %+v, want the two rows", rows)
	}
	if got := rows[1].Slot; got != 3 {
		t.Errorf("the second row is of line %d, want 3", got)
	}
}

func TestAnswersOfLevel1NeedNotBeActions(t *testing.T) {
	in, err := ReadRows("f", []byte(`{"prompt":"q","chosen":"free words"}`), 1)
	rows := in.Rows
	if err != nil || rows[0].Chosen != "free words" {
		t.Errorf("ReadRows() = %+v, %v; want the row with free words", rows, err)
	}
}

func TestErrorsInCustomRowsNameTheLine(t *testing.T) {
	const ok = `{"prompt":"Goal: x","chosen":` + wait + `}`
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "f: has no rows"},
		"not JSON":      {ok + "\nnonsense", "f:2: not a JSON object"},
		"empty answer":  {`{"prompt":"x","chosen":""}`, "f:1: chosen: is empty"},
		"a list":        {`["x"]` + "\n" + ok, "not a JSON object, but a JSON string"},
		"a text":        {ok + "\n\"x\"", "f:2: not a JSON object, but a JSON string"},
		"a number":      {ok + "\n7", "f:2: not a JSON object, but a JSON number"},
		"no answer":     {`{"prompt":"x"}`, "f:1: chosen: expected a text"},
		"no prompt":     {`{"chosen":"x"}`, "f:1: prompt: expected a text or a list"},
		"one turn":      {`{"messages":[{}]}`, "f:1: messages: expected at least two turns"},
		"not an action": {`{"prompt":"x","chosen":"c"}`, "f:1: chosen: answer has no 'Action: {json}'"},
		"nothing rejected": {`{"prompt":"x","chosen":` + wait + `,"rejected":` + wait + `}`,
			"f:1: chosen and rejected are the same action"},
		"an assistant's turn in the prompt": {
			`{"prompt":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"chosen":"c"}`,
			`f:1: prompt: expected one user message and at most a system message with it; found role "assistant"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := ReadRows("f", []byte(c.text), 2)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("ReadRows() = %+v, %v; want an error with %q", rows, err, c.want)
			}
		})
	}
}
