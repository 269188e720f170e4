package agents

import (
	"encoding/json"
	"testing"

	"github.com/collabui/collabui/domain"
)

// FuzzAnswersSurviveWritingAndReading: whatever a model writes, parsing neither panics nor gives an action that does not survive being written and read again.
func FuzzAnswersSurviveWritingAndReading(f *testing.F) {
	for _, s := range []string{"", "Reason: x\nAction: {\"action_type\":\"click\",\"index\":3}", "Action: {\"a\":\"}\"", "Action: {{}", "Action: {\"action_type\":\"input_text\",\"index\":1,\"text\":\"\\u0000\"}",
		"Action: {} Action:", "```json\nAction: {\"action_type\":\"status\",\"goal_status\":\"complete\"}```", "Action: {\"action_type\":\"click\",\"index\":1e99}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAnswer(s)
		if err != nil {
			return
		}
		again, err := ParseAnswer("Action: " + a.JSON())
		if err != nil || again.Canonical(domain.Observation{}) != a.Canonical(domain.Observation{}) {
			t.Errorf("%q gave %s, read again %s, %v", s, a.JSON(), again.JSON(), err)
		}
	})
}

// FuzzFindObject: what is found is JSON, stands in the text, and has the key.
func FuzzFindObject(f *testing.F) {
	for _, s := range []string{"", `{"grades":[]}`, "{{\"grades\":1}", "```json\n{\"grades\":[{\"cell\":\"0.0\"}]}```", `{"a":{"grades":1}}{"grades":2}`, "{\"grades\":\"\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw, ok := FindObject(s, "grades")
		if !ok {
			return
		}
		var o map[string]json.RawMessage
		if json.Unmarshal([]byte(raw), &o) != nil || o["grades"] == nil {
			t.Errorf("%q gave %q", s, raw)
		}
	})
}
