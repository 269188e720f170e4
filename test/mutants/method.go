package mutants

// votes are the tests of how votes are counted.
var votes = by("internal/method/agents", "TestVotesAreCountedWithATotalTieRule")

// method are bugs of the rules of the method: seeds, topologies, votes, labels, pairs, gates.
var method = []Mutant{
	{
		Name:   "a seed ignores its path",
		Symbol: "domain.Seed", Change: replace(`fmt.Fprintf(h, "/%v", part)`, `fmt.Fprintf(h, "/%T", part)`),
		Find: by("domain", "TestSeedsDependOnEveryPartOfThePath"),
	},
	{
		Name: "agents speak before those whom they read", Symbol: "domain.Topology.Order",
		Change: never(`slices.ContainsFunc(t.Preds(a), func(p int) bool { return !done[p] })`),
		Find:   by("domain", "TestSpeakingOrderIsTopologicalWithLowerIndexFirst"),
	},
	{
		Name: "the graph of an epoch may be the one before", Symbol: "domain.RandomTopology",
		Change: always(`prev == nil`),
		Find:   by("domain", "TestRandomTopologiesAreConnectedAcyclicAndDiffer"),
	},
	{
		Name: "every epoch plays the same tasks", Symbol: "internal/method/rules.Slot",
		Change: replace(`domain.Seed(s.Seed, "task", epoch, n, r)`, `domain.Seed(s.Seed, "task", n, r)`),
		Find:   by("internal/method/rules", "TestASlotIsAFunctionOfItsNumbers"),
	},
	{
		Name: "a replacement is a task of the same template", Symbol: "internal/method/rules.Slot",
		Change: replace(`turn+r`, `turn`),
		Find:   by("internal/method/rules", "TestAReplacementIsATaskOfTheNextTemplate"),
	},
	{
		Name: "slots are drawn from quarantine", Symbol: "internal/method/rules.Slot",
		Change: never(`slices.Contains(s.Quarantine, t.Name)`),
		Find:   by("internal/method/rules", "TestNoSlotIsDrawnFromQuarantine"),
	},
	{
		Name: "evaluations of two systems play different tasks", Symbol: "internal/method/rules.EvalTask",
		Change: replace(`domain.Seed(s.Evaluation.Seed, suite.Name(), split, i)`,
			`domain.Seed(s.Seed, suite.Name(), split, i)`),
		Find: by("internal/method/rules", "TestTasksOfAnEvaluationDoNotDependOnTheRun"),
	},
	{
		Name: "cells that do not parse have a vote", Symbol: "internal/method/agents.Count",
		Change: replace(`c.Action == nil || (lastOnly && c.Round != rounds-1)`, `lastOnly && c.Round != rounds-1`),
		Find:   votes,
	},
	{
		Name: "ties are not decided by the last round", Symbol: "internal/method/agents.Count",
		Change: never(`last[c.Canonical] > last[best.Canonical]`), Find: votes,
	},
	{
		Name: "the last tie goes to who speaks first", Symbol: "internal/method/agents.Count",
		Change: replace(`cells[order[k]*rounds+j]`, `cells[order[len(order)-1-k]*rounds+j]`), Find: votes,
	},
	{
		Name: "a vote is certain too early", Symbol: "internal/method/agents.earlyVote.certain",
		Change: replace(`min(len(t.cells)-t.next, t.voters())`, `min(len(t.cells)-t.next, t.voters())-1`),
		Find:   by("internal/method/agents", "TestCellsThatCannotChangeTheVoteAreNotAskedFor"),
	},
	{
		Name: "an action inside of a page's text is the agent's own", Symbol: "internal/method/agents.asAsked",
		Change: replace(`at += strings.Index(text[at:], object) + len(object)`, ``),
		Find: by("internal/method/agents",
			"TestInjectionsChangeNoParse", "TestParseAnswerFindsTheLastActionAmongOtherText"),
	},
	{
		Name: "texts of a page add lines to a prompt", Symbol: "internal/method/agents.Line",
		Change: replace(`s = strings.Join(strings.Fields(s), " ")`, ``),
		Find:   by("internal/method/agents", "TestInjectionsChangeNoPrompt", "TestLineKeepsDataOnOneLine"),
	},
	{
		Name: "control tokens stay whole", Symbol: "domain.opensToken",
		Change: begin(`if opener == '<' { return false }`),
		Find:   by("domain", "TestControlTokensAreBroken"),
	},
	{
		Name: "control tokens of a page reach models", Symbol: "internal/policy/llm.Client.messages",
		Change: replace(`domain.BreakTokens(r.User)`, `r.User`),
		Find:   by("internal/policy/llm", "TestNoRequestHasAControlToken"),
	},
	{
		Name: "control tokens of a page are trained on", Symbol: "trainer/rows.Set.Encode",
		Change: replace(`domain.BreakTokens(p.Prompt)`, `p.Prompt`),
		Find:   by("trainer/rows", "TestNoRowHasAControlToken"),
	},
	{
		Name: "a model is served whose turns a page can forge", Symbol: "internal/policy/turns.Check",
		Change: never(`contains(written, genuine)`),
		Find:   by("internal/policy/turns", "TestModelsWhoseTurnsCanBeForgedAreRefused"),
	},
	{
		Name: "two agents have the same seed", Symbol: "internal/method/agents.matrix.speak",
		Change: replace(`domain.Seed(m.seed, "cell", a, j)`, `domain.Seed(m.seed, "cell", j)`),
		Find:   by("internal/method/agents", "TestAgentsReadTheirPredecessorsAndThemselves"),
	},
	{
		Name: "a refused prompt is a mistake of the agent", Symbol: "internal/method/credit.Oracle",
		Change: never(`cell.Refused != ""`),
		Find:   by("workflows", "TestARefusedPromptIsACellThatSaysNothing"),
	},
	{
		Name: "an outcome labels what was not executed", Symbol: "internal/method/credit.Outcome",
		Change: replace(`cell.Action == nil || cell.Canonical != done`, `cell.Action == nil && cell.Canonical != done`),
		Find:   by("internal/method/credit", "TestLabelsOfCriticsThatAreNotModels"),
	},
	{
		Name: "an advantage that makes no difference labels", Symbol: "internal/method/credit.Advantage",
		Change: never(`math.Abs(advantage) <= threshold`),
		Find:   by("internal/method/credit", "TestAnAdvantageLabelsWhatWasExecuted"),
	},
	{
		Name: "the robust rule has no dead zone", Symbol: "internal/method/credit.ModelCritic.label",
		Change: replace(`low, high = 0.3, 0.7`, ``),
		Find:   by("internal/method/credit", "TestLabelsFollowTheMeanOfEqualActions"),
	},
	{
		Name: "a missing grade is 0", Symbol: "internal/method/credit.ModelCritic.labels",
		Change: never(`!a.Grades[i].Given || !ok`),
		Find:   by("internal/method/credit", "TestBrokenAnswersAreAskedForOnceMoreAndNeverInvented"),
	},
	{
		Name: "a cell that is graded twice has its last grade", Symbol: "internal/method/credit.take",
		Change: never(`twice && old.Value != score`),
		Find:   by("internal/method/credit", "TestBrokenAnswersAreAskedForOnceMoreAndNeverInvented"),
	},
	{
		Name: "a candidate that equals a right answer is rejected", Symbol: "internal/method/credit.maker.propose",
		Change: never(`taken[c.Canonical]`),
		Find:   by("internal/method/credit", "TestCandidatesThatCannotServeAreCounted"),
	},
	{
		Name: "candidates that are not wrong are rejected", Symbol: "internal/method/credit.Rules.pairs",
		Change: always(`c.label == domain.Negative`),
		Find: by("internal/method/credit",
			"TestTheRejectedAnswerOfAPositiveCell", "TestCandidatesThatCannotServeAreCounted"),
	},
	{
		Name: "the easiest rejected answers come first", Symbol: "internal/method/credit.hardest",
		Change: replace(`cmp.Compare(rank(b), rank(a))`, `cmp.Compare(rank(a), rank(b))`),
		Find:   by("internal/method/credit", "TestAPositiveCellHasSeveralRejectedAnswersTheHardestFirst"),
	},
	{
		Name: "an answer is rejected that the prompt did not offer", Symbol: "internal/method/credit.legal",
		Change: begin(`return true`),
		Find:   by("internal/method/credit", "TestPairsFollowFromWhatThePromptsShowed"),
	},
	{
		Name: "pairs that stay are not drawn", Symbol: "internal/method/credit.maker.drawn",
		Change: replace(`slices.Sort(keep)`, `slices.Sort(keep); for i := range keep { keep[i] = i }`),
		Find:   by("internal/method/credit", "TestPairsOfAnEpisodeAreLimited"),
	},
	{
		Name: "an agent is corrected by itself", Symbol: "internal/method/credit.Rules.correction",
		Change: replace(`c.Agent != agent`, `c.Agent == agent`),
		Find:   by("internal/method/credit", "TestACorrectionPairsAPeersRightActionWithTheOwnWrongOne"),
	},
	{
		Name: "advantages have the deviation of a population", Symbol: "internal/method/credit.Advantages",
		Change: replace(`n * mean * (1 - mean) / (n - 1)`, `mean * (1 - mean)`),
		Find:   by("internal/method/credit", "TestTheAdvantagesOfAStep"),
	},
	{
		Name:   "an update far from its parent passes",
		Symbol: "internal/method/rules.Gate", Change: never(`p.KL > g.MaxKL`),
		Find: by("internal/method/rules", "TestABreachOfAnyGateSaysWhy"),
	},
	{
		Name: "an action type may vanish", Symbol: "internal/method/rules.Gate",
		Change: never(`t.Share >= g.TypeShare`),
		Find:   by("internal/method/rules", "TestABreachOfAnyGateSaysWhy"),
	},
	{
		Name: "a system that lost on val stays", Symbol: "internal/method/rules.Rollback", Change: begin(`return ""`),
		Find: by("internal/method/rules", "TestAFallOnValKeepsTheSystemThatRolledOut"),
	},
	{
		Name: "the gate of a line decides by means", Symbol: "internal/method/retrain.Gate.Decide",
		Change: replace(`group.Low > g.Margin`, `group.Mean > g.Margin`),
		Find:   by("internal/method/retrain", "TestTheGateDecidesByIntervalsAndNotByMeans"),
	},
	{
		Name: "an old task may become worse", Symbol: "internal/method/retrain.Gate.Decide",
		Change: never(`p < harm/float64(len(group.Tasks))`),
		Find:   by("internal/method/retrain", "TestTheGateDecidesByIntervalsAndNotByMeans"),
	},
	{
		Name: "a gate decides on few episodes", Symbol: "internal/method/retrain.Gate.Decide",
		Change: replace(`max(2, int(math.Ceil(enough*float64(g.Episodes))))`,
			`min(0, int(math.Ceil(enough*float64(g.Episodes))))`),
		Find: by("internal/method/retrain", "TestTheGateDecidesByIntervalsAndNotByMeans"),
	},
}
