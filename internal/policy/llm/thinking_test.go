package llm

import "testing"

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
