package mutants

// speech are bugs in divided views, in acts of speech, and in how stage 1 shows them.
var speech = []Mutant{
	{
		Name: "an act of speech votes", Symbol: "domain.Cell.Votes",
		Change: replace(`!c.Action.Speech()`, `true`), Find: by("internal/method/agents", "TestSpeechNeverVotes"),
	},
	{
		Name: "agents speak although they may not", Symbol: "internal/method/agents.refuseSpeech",
		Change: never(`action.Speech()`), Find: by("internal/method/agents", "TestSpeechNeverVotes"),
	},
	{
		Name: "sources of the graph never hear their successors", Symbol: "internal/method/agents.Config.Sources",
		Change: replace(`c.Reads == ReadBack`, `false`),
		Find:   by("internal/method/agents", "TestSourcesReadTheirSuccessorsPreviousRound"),
	},
	{
		Name: "a hidden element is seen by no agent", Symbol: "internal/method/agents.dropout",
		Change: never(`!slices.Contains(sees, true)`), Find: by("internal/method/agents", "TestViewsCoverTheScreen"),
	},
	{
		Name: "regions cut through panes", Symbol: "internal/method/agents.cut",
		Change: replace(`float64(1+max(0, gap))`, `1`),
		Find:   by("internal/method/agents", "TestRegionsFollowThePanesOfAScreen"),
	},
	{
		Name: "the small policy speaks wherever it likes", Symbol: "internal/policy/tinylm.Prompt.legalKinds",
		Change: never(`kind.speech && !p.speech`),
		Find:   by("internal/policy/tinylm", "TestAgentsSpeakOnlyWhereThePromptAllowsIt"),
	},
	{
		Name: "words that peers told are not flagged", Symbol: "internal/policy/tinylm.Prompt.flagTold",
		Change: begin(`return`), Find: by("internal/policy/tinylm", "TestWordsOfPeersCanBeCopiedAndAreFlagged"),
	},
	{
		Name: "the expert acts on what it cannot know", Symbol: "internal/method/synth.Scene.answers",
		Change: replace(`complete = complete && known[element.Index]`, `_ = known`),
		Find:   by("internal/method/synth", "TestAnExpertAloneNeverActsOnWhatItCannotSee"),
	},
	{
		Name: "the expert hears its own answers instead of the policy's", Symbol: "internal/method/synth.Target.Matrix",
		Change: replace(`decision == nil`, `true`),
		Find:   by("internal/method/synth", "TestAnExpertAnswersWhatAgentsReallySaid"),
	},
	{
		Name: "every chunk plays the same demonstrations", Symbol: "workflows.fineTuning.data",
		Change: replace(`(f.choice.Chunk-1)*f.in.Plan.Demos`, `0`),
		Find:   by("workflows", "TestEveryChunkWithSpeechHasDemonstrationsOfItsOwn"),
	},
	{
		Name: "a panel alone shows what is right", Symbol: "envadapters/webtasks.environment.Because",
		Change: begin(`return make([][]int, len(e.page.Right))`),
		Find:   by("envadapters/webtasks", "TestNoPanelAloneShowsWhatIsRight"),
	},
}
