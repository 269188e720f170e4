package agents

import (
	"encoding/json"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestParseAnswerFindsTheLastActionAmongOtherText(t *testing.T) {
	for text, want := range map[string]string{
		click(3): "click",
		`Action: {"action_type":"wait"} no, Action: {"action_type":"navigate_back"} and more`: "navigate_back",
		`Action: {"action_type":"input_text","index":1,"text":"a } \" { b"}`:                  "input_text",
	} {
		t.Run(want, func(t *testing.T) {
			if a, err := ParseAnswer(text); err != nil || a.Type != want {
				t.Errorf("ParseAnswer(%q) = %+v, %v; want type %s", text, a, err, want)
			}
		})
	}
}

func TestParseAnswerRejectsWhatIsNotAnAction(t *testing.T) {
	for name, bad := range map[string]string{
		"empty":         "",
		"no object":     "Action:",
		"truncated":     "Action: {",
		"missing field": `Action: {"action_type":"click"}`,
		"no mark":       `I do {"action_type":"wait"}`,
		"unknown field": `Action: {"action_type":"click","index":1,"x":2}`,
	} {
		t.Run(name, func(t *testing.T) {
			if a, err := ParseAnswer(bad); err == nil {
				t.Errorf("ParseAnswer(%q) = %+v, want an error", bad, a)
			}
		})
	}
}

// FuzzParseAnswer checks that parsing does not panic on any text, and that a parsed action is valid and survives being
// written and read again.
func FuzzParseAnswer(f *testing.F) {
	for _, s := range []string{
		"",
		click(1),
		`Action: {"action_type":"input_text","index":1,"text":"}"}`,
		`Action: {"a":"}"}`,
		"Action: {{}",
		`Action: {"action_type":"input_text","index":1,"text":"\u0000"}`,
		"Action: {} Action:",
		"```json\nAction: {\"action_type\":\"status\",\"goal_status\":\"complete\"}```",
		`Action: {"action_type":"click","index":1e99}`,
		`**action**： ｛'action_type': “Tap”， index: '3',｝`,
		`Action: {"action":"press back","x":None,"text":'it\'s',}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAnswer(s)
		if err != nil {
			return
		}
		if err := a.Validate(); err != nil {
			t.Errorf("ParseAnswer(%q) = %+v, want a valid action, got %v", s, a, err)
		}
		again, err := ParseAnswer("Action: " + a.JSON())
		if err != nil {
			t.Fatalf("ParseAnswer() of %s = %v, want no error", a.JSON(), err)
		}
		if got, want := again.Canonical(domain.Observation{}), a.Canonical(domain.Observation{}); got != want {
			t.Errorf("%q, written and read again, is %s, want %s", s, got, want)
		}
	})
}

// FuzzFindObject checks that a found object is JSON and has the key.
func FuzzFindObject(f *testing.F) {
	for _, s := range []string{
		"",
		`{"grades":[]}`,
		`{{"grades":1}`,
		"```json\n{\"grades\":[{\"cell\":\"0.0\"}]}```",
		`{"a":{"grades":1}}{"grades":2}`,
		`{"grades":"\`,
		`{'grades': [True, {“a”：'b\'c',}],}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw, ok := FindObject(s, "grades")
		if !ok {
			return
		}
		var o map[string]json.RawMessage
		if err := json.Unmarshal([]byte(raw), &o); err != nil || o["grades"] == nil {
			t.Errorf("FindObject(%q) = %q, %v; want an object with grades", s, raw, err)
		}
	})
}
