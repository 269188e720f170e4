package llm

import (
	"testing"

	"github.com/collabui/collabui/internal/method/chat"
)

func TestTheFirstMarkEndsAThoughtAndAQuotedOneNone(t *testing.T) {
	const quote = "Reason: the page shows the tag </think> as text.\n" +
		`Action: {"action_type":"input_text","index":1,"text":"a</think>b"}`
	for in, want := range map[string][2]string{
		quote:                                {"", quote},
		"<think>\nhm\n</think>\n" + quote:    {"hm", quote},
		"hm\n</think>\n\n" + quote:           {"hm", quote},
		"hm.</think>" + quote:                {"hm.", quote},
		"I answer. </think>\n" + quote:       {"I answer.", quote},
		`{"reason":"it says </think>"}`:      {"", `{"reason":"it says </think>"}`},
		"```json\n{\"a\":\"</think>\"}\n```": {"", "```json\n{\"a\":\"</think>\"}\n```"},
		"The mark `</think>` ends it.":       {"", "The mark `</think>` ends it."},
		"The mark </think> ends it.":         {"", "The mark </think> ends it."},
		"Die Marke „</think>“ fehlt.":        {"", "Die Marke „</think>“ fehlt."},
		"Use “</think>” here.":               {"", "Use “</think>” here."},
		"<thinking>a</thinking>b</think>c":   {"a", "b</think>c"},
		"[THINK]a[/THINK]b":                  {"a", "b"},
		"<thought>a\n":                       {"a", ""},
		"a <think>b</think> c":               {"a <think>b", "c"},

		// Forms of other models.
		"<Think>a</Think>b":               {"a", "b"},
		"a</THINK>\nb":                    {"a", "b"},
		"<reasoning>\na\n</reasoning>\nb": {"a", "b"},
		"<Thought>a</thought>b":           {"a", "b"},
		"<thoughts>a</thoughts>b":         {"a", "b"},
		"a<|end|><|start|>assistant<|channel|>final<|message|>b":       {"a", "b"},
		"◁think▷a◁/think▷b":                                            {"a", "b"},
		"<think>a</think>\n<think>b</think>c":                          {"a\nb", "c"},
		"<think></think><reasoning>a</reasoning>b":                     {"a", "b"},
		"<thinker>a</thinker>b":                                        {"", "<thinker>a</thinker>b"},
		"<|channel|>analysis<|message|>a <|channel|>final<|message|>b": {"a", "b"},
		"<|channel|>analysis<|message|>a<|end|>" +
			"<|start|>assistant<|channel|>final <|constrain|>json<|message|>{}<|return|>": {
			"a", "{}",
		},
		"<|start|>assistant<|channel|>final<|message|>b<|return|>":                {"", "b"},
		"<|channel|>analysis<|message|>a":                                         {"a", ""},
		"<|channel|>commentary<|message|>a<|end|><|channel|>analysis<|message|>c": {"ac", ""},
		"analysisa {1}assistantfinal{2}":                                          {"a {1}", "{2}"},
		"analysis of the page":                                                    {"", "analysis of the page"},
	} {
		thought, text := SplitThinking(in)
		if [2]string{thought, text} != want {
			t.Errorf("SplitThinking(%q) = %q, %q, want %q", in, thought, text, want)
		}
	}
}

func TestThoughtsArePartedFromAnswers(t *testing.T) {
	for in, want := range map[string][2]string{
		"plain":                          {"", "plain"},
		"<think>a\nb</think>\nAction: x": {"a\nb", "Action: x"},
		"no opening</think> y":           {"no opening", "y"},
		"<think>endless":                 {"endless", ""},
		"<think>a</think>b</think>c":     {"a", "b</think>c"},
		"  <think></think>z":             {"", "z"},
	} {
		if th, an := SplitThinking(in); th != want[0] || an != want[1] {
			t.Errorf("SplitThinking(%q) = %q, %q, want %q", in, th, an, want)
		}
	}

	base, _, _ := server(t, 200, nil, `{"choices":[{"message":{"content":"A","reasoning_content":"R"}}],`+
		`"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":8}}}`)
	r, err := must(t, Config{BaseURL: base}).Complete(t.Context(), chat.Request{Model: "m", User: "u"})
	if err != nil || r.Texts[0] != "A" || r.Reasoning[0] != "R" || r.Usage.Answer != 9 || r.Usage.Thought != 8 {
		t.Errorf("Complete = %+v, %v, want A by R in 9 tokens, 8 of them thought", r, err)
	}
}
