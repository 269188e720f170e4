package mutants

// labelled are the arguments for the tests of messages and their effects.
func labelled(tests ...string) []string { return by("internal/method/credit", tests...) }

// messages are bugs in the credit for messages and in what is learnt from it.
var messages = []Mutant{
	{
		Name: "a message that helps is labelled 0", Symbol: "internal/method/credit.hearing.effect",
		Change: replace(`sign(gained(effect.Readers))`, `sign(-gained(effect.Readers))`),
		Find:   labelled("TestAMessageIsLabelledByWhatItChanges"),
	},
	{
		Name: "all cells of a round are readers", Symbol: "internal/method/credit.hearing.readers",
		Change: replace(`slices.Contains(h.Config.Sources(reader.Agent, reader.Round), source)`,
			`reader.Round == source.Round && reader.Agent != source.Agent`),
		Find: labelled("TestAMessageIsLabelledByWhatItChanges"),
	},
	{
		Name: "readers of the next round are ignored", Symbol: "internal/method/credit.hearing.readers",
		Change: replace(`slices.Contains(h.Config.Sources(reader.Agent, reader.Round), source)`,
			`reader.Round == source.Round && slices.Contains(h.Config.Sources(reader.Agent, reader.Round), source)`),
		Find: labelled("TestAMessageIsLabelledByWhatItChanges"),
	},
	{
		Name: "a reader hears the message all the same", Symbol: "internal/method/credit.hearing.listen",
		Change: never(`text == nil`), Find: labelled("TestAMessageIsLabelledByWhatItChanges"),
	},
	{
		Name: "readers are sampled beyond the bound", Symbol: "internal/method/credit.hearing.plan",
		Change: replace(`h.full || h.Spent[h.step.Number]+cost > h.Asks`, `false`),
		Find:   labelled("TestAMessageIsLabelledByWhatItChanges", "TestThePairsOfAStepKeepToTheBoundOfItsLabels"),
	},
	{
		Name: "a reader who speaks is right", Symbol: "internal/method/credit.hearing.label",
		Change: replace(`return domain.Negative`, `return domain.Positive`),
		Find:   labelled("TestAMessageIsLabelledByWhatItChanges"),
	},
	{
		Name: "a reader is sampled with another seed", Symbol: "internal/method/agents.Config.request",
		Change: replace(`domain.Seed(seed, "cell", agent, round)`, `domain.Seed(seed, "again", agent, round)`),
		Find:   labelled("TestAnAnswerIsSampledAsItsCellWas"),
	},
	{
		Name:   "the prompt of a reader may differ from the record",
		Symbol: "internal/method/credit.hearing.replays",
		Change: begin(`return true`), Find: labelled("TestAnAnswerIsSampledAsItsCellWas"),
	},
	{
		Name: "a pass is right though an answer would have helped", Symbol: "internal/method/credit.hearing.effect",
		Change: never(`alternative.Label == domain.Positive`),
		Find:   labelled("TestAPassIsWrongIfAnAnswerWouldHaveHelped"),
	},
	{
		Name: "a pass is right if nothing is known", Symbol: "internal/method/credit.hearing.effect",
		Change: never(`unknown && label == domain.Positive`),
		Find:   labelled("TestAPassIsWrongIfAnAnswerWouldHaveHelped"),
	},
	{
		Name: "the calls of readers are not recorded", Symbol: "activities/grade.grading.label",
		Change: replace(`out.Heard = callsOf(listening)`, ``),
		Find:   by("workflows", "TestARunLearnsFromWhatMessagesChange"),
	},
	{
		Name: "where an action is right all speech is wrong", Symbol: "internal/method/credit.Rules.judge",
		Change: replace(`return domain.Uncertain, labelled`, `return domain.Negative, labelled`),
		Find:   labelled("TestPairsOfSpeech"),
	},
	{
		Name: "a misled agent does not learn from its own answer", Symbol: "internal/method/credit.Rules.resistance",
		Change: replace(`Round: wrong.Round - 1`, `Round: wrong.Round`), Find: labelled("TestPairsOfSpeech"),
	},
	{
		Name: "a peer tells what the prompt does not show", Symbol: "internal/method/credit.legal",
		Change: never(`action.Type == domain.ActionTell`), Find: labelled("TestAToldTextMustOccurInThePromptOfAPeer"),
	},
	{
		Name: "right answers displace pairs", Symbol: "internal/method/credit.Maker.Pairs",
		Change: replace(`pairs = append(pairs, m.draw(own, agent)...); pairs = append(pairs, right...)`,
			`pairs = append(pairs, m.draw(append(own, right...), agent)...)`),
		Find: labelled("TestEveryRightAnswerIsARowOfItsOwn"),
	},
	{
		Name: "right answers have a margin", Symbol: "internal/policy/tinylm.Trainer.DPOStep",
		Change: replace(`count := 0.0`, `count := float64(len(batch))`),
		Find:   by("internal/policy/tinylm", "TestTheGradientOfAStepIsThatOfItsLoss"),
	},
	{
		Name: "right answers count as pairs", Symbol: "activities/update.GPU.update",
		Change: never(`specification.LearnsRight()`),
		Find:   by("workflows", "TestRightAnswersDoNotMakeUpForPairs"),
	},
	{
		Name: "a right answer is compared with what it led to", Symbol: "internal/method/credit.Advantages",
		Change: replace(`!later[k]`, `(!later[k] || true)`), Find: labelled("TestTheGroupOfACellLacksWhatItInfluenced"),
	},
}
