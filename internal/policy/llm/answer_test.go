package llm

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
)

func TestAnAnswerThatMayHaveNoMoreTokensIsCut(t *testing.T) {
	for reason, want := range map[string]bool{
		"length": true, "LENGTH": true, "max_tokens": true, "MAX_TOKENS": true, "max_output_tokens": true,
		"Model_Length": true, "stop": false, "STOP": false, "tool_calls": false,
	} {
		got, err := completeWith(t, Config{}, strings.Replace(answer, "stop", reason, 1))
		if err != nil || got.Cut != want {
			t.Errorf("finish_reason %s: cut is %v, %v, want %v", reason, got.Cut, err, want)
		}
	}
}

func TestACallOfAToolInsteadOfAnAnswerIsNamed(t *testing.T) {
	for body, want := range map[string]string{
		`{"content":null,"tool_calls":[{"id":"1","function":{"name":"click","arguments":"{}"}}]}`: "the tool click ",
		`{"tool_calls":[{"name":"click"}],"reasoning":"hm"}`:                                      "the tool click ",
		`{"content":"","function_call":{"name":"click","arguments":{}}}`:                          "the tool click ",
		`{"content":null,"tool_calls":[7]}`:                                                       unnamed,
		`{"content":"A","tool_calls":[{"function":{"name":"click"}}]}`:                            "",
		`{"content":null,"tool_calls":[]}`:                                                        "",
	} {
		_, err := completeWith(t, Config{}, `{"choices":[{"message":`+body+`,"finish_reason":"tool_calls"}]}`)
		if want == "" && err != nil ||
			want != "" && (err == nil || fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want a refusal that contains %q", body, err, want)
		}
	}
}
