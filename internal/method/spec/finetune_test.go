package spec_test

import "testing"

const digest = "5c7110733a7cdec2df6be945fa3ed44f5b74dbc2f4e6eda9ebbefce3691cb9e0"

func TestImpossibleLevelsAreRefused(t *testing.T) {
	mistakes{
		"finetune: {levels: [4]}":                        "finetune.levels: expected some of 1, 2, 3",
		"finetune: {levels: [0]}":                        "finetune.levels: expected some of 1, 2, 3",
		"finetune: {levels: [2, 1]}":                     "finetune.levels: expected some of 1, 2, 3",
		"finetune: {levels: [3]}":                        "finetune.levels: expected a level with steps before 3",
		"finetune: {levels: [1, 3], steps: {level1: 0}}": "finetune.levels: expected a level with steps before 3",
		"finetune: {levels: [1, 2, 3], steps: {level1: 0, level2: 0, level3: 0, preference: 0}}": "" +
			"finetune.steps: expected steps for one of the levels",
		"finetune: {levels: [1], steps: {level1: -1}}": "finetune.steps.level1: expected a whole number from 0",
		"finetune: {levels: [1], data: {level2: " + digest + "}}": "" +
			"finetune.data.level2: expected level 2 among finetune.levels",
		"finetune: {base: mine}":                      "finetune.base: expected the digest of a policy",
		"finetune: {base: model}":                     "finetune.base: expected the digest of a policy",
		"credit: outcome\nfinetune: {levels: [1, 3]}": "finetune.levels: expected no level 3 with credit: outcome",
		"synthesis: {author: nobody}":                 "synthesis.author: expected template or a name under models",
	}.check(t, "name: a\n")
}

func TestLevelsThatCanBeTrainedAreAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"all levels":            "finetune: {levels: [1, 2, 3]}",
		"level 3 after a base":  "finetune: {levels: [3], base: " + digest + "}",
		"level 3 of a data set": "finetune: {levels: [3], data: {level3: " + digest + "}}",
	} {
		t.Run(name, func(t *testing.T) { parse(t, "name: a\n"+text+"\n") })
	}
}
