package spec

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestImpossibleLevelsAreRefused(t *testing.T) {
	const digest = "5c7110733a7cdec2df6be945fa3ed44f5b74dbc2f4e6eda9ebbefce3691cb9e0"
	for text, want := range map[string]string{
		"finetune: {levels: [1, 2, 3]}":                           "",
		"finetune: {levels: [3], base: " + digest + "}":           "",
		"finetune: {levels: [3], data: {level3: " + digest + "}}": "",
		"finetune: {levels: [4]}":                                 "finetune.levels: expected some of 1, 2, 3",
		"finetune: {levels: [0]}":                                 "finetune.levels: expected some of 1, 2, 3",
		"finetune: {levels: [2, 1]}":                              "finetune.levels: expected some of 1, 2, 3",
		"finetune: {levels: [3]}":                                 "finetune.levels: expected a level with steps before 3",
		"finetune: {levels: [1, 3], steps: {level1: 0}}":          "finetune.levels: expected a level with steps before 3",
		"finetune: {levels: [1, 2, 3], steps: {level1: 0, level2: 0, level3: 0, preference: 0}}": "finetune.steps: expected steps for one of the levels",
		"finetune: {levels: [1], data: {level2: " + digest + "}}":                                "finetune.data.level2: expected level 2 among finetune.levels",
		"finetune: {base: mine}":                      "finetune.base: expected the digest of a policy",
		"credit: outcome\nfinetune: {levels: [1, 3]}": "finetune.levels: expected no level 3 with credit: outcome",
		"critic: {error: 0.6}":                        "critic.error: expected a number from 0 to 0.5",
		"models: {m: {base_url: http://127.0.0.1/v1, model: m}}\ncritic: {model: m, error: 0.1}": "critic.error: expected 0 where the critic is not the oracle",
		"synthesis: {author: nobody}": "synthesis.author: expected template or a name under models",
	} {
		_, err := Parse("s.yaml", []byte("name: a\n"+text+"\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestStoredSpecificationsOfOlderVersionsAreReadOverTheDefaults: keys that came later are missing in them.
func TestStoredSpecificationsOfOlderVersionsAreReadOverTheDefaults(t *testing.T) {
	var s Spec
	if err := json.Unmarshal([]byte(`{"name":"a","slots":7,"decoding":{"temperatures":[0.1],"top_p":0.5,"max_tokens":9}}`), &s); err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Name, want.Slots, want.Decoding = "a", 7, Decoding{Temperatures: []float64{0.1}, TopP: 0.5, MaxTokens: 9}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, want %+v", s, want)
	}
}
