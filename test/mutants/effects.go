package mutants

// effects are bugs in the results that activities adopt, compare, refuse and retry.
var effects = []Mutant{
	{
		Name: "a worker of another version grades", Symbol: "activities.Models.credits",
		Change: replace(`m.sameAs(ctx, s, l.Epoch, nil)`, `error(nil)`), Find: simulated,
	},
	{
		Name: "a worker of another version trains", Symbol: "activities.GPU.update",
		Change: replace(`g.sameAs(ctx, s, id.Epoch, nil)`, `error(nil)`), Find: simulated,
	},
	{
		Name: "a worker with another kernel is the same", Symbol: "activities.Common.sameAs",
		Change: replace(`compare("the kernel", here.Kernel, want.Kernel)`, ``),
		Find:   by("activities", "TestAWorkerWithOtherVersionsThanTheEpochsIsRefused"),
	},
	{
		Name: "a replay that shows another screen goes on", Symbol: "activities.attempt.step",
		Change: never(`step.ObservationDigest != seen`), Find: simulated,
	},
	{
		Name: "the decisions of another attempt have other seeds", Symbol: "activities.attempt.step",
		Change: replace(`domain.Seed(a.slot.Seed, "step", t.Number)`,
			`domain.Seed(a.slot.Seed, "step", t.Number, a.number)`),
		Find: simulated,
	},
	{
		Name: "an episode keeps the steps of the environment that broke", Symbol: "activities.attempt.episode",
		Change: replace(`e = runs.Episode{}`, ``), Find: simulated,
	},
	{
		Name: "a step is decided again in another environment", Symbol: "activities.attempt.episode",
		Change: replace(`a.fresh = false`, ``),
		Find:   by("workflows", "TestWhatIsRecordedIsNotDecidedAgainInAnotherEnvironment"),
	},
	{
		Name: "what cannot be replayed goes on in another environment", Symbol: "activities.attempt.begin",
		Change: never(`err == nil && begun`),
		Find:   by("workflows", "TestAnAttemptThatCannotBeResumedIsVoidAndTheNextBeginsAnew"),
	},
	{
		Name: "slots that failed are not played again", Symbol: "activities.attempt.untilDone",
		Change: always(`err != nil || !again`),
		Find:   by("workflows", "TestFailedSlotsArePlayedAgainWhenAPersonSaysSo"),
	},
	{
		Name: "eight void attempts fail a slot", Symbol: "activities.attempt.play",
		Change: replace(`a.replaced <= maxReplacements`, `a.replaced <= maxReplacements && a.number <= 8`),
		Find:   by("workflows", "TestInfrastructureNeverFailsASlot"),
	},
	{
		Name: "a transient fault is not tried again", Symbol: "activities.retryable",
		Change: replace(`fault.Exhausted`, `fault.Exhausted, fault.Transient`), Find: simulated,
	},
	{
		Name: "a throttled call is not tried again", Symbol: "activities.retryable",
		Change: replace(`fault.Exhausted`, `fault.Exhausted, fault.Throttled`), Find: simulated,
	},
	{
		Name: "a throttled activity comes back at once", Symbol: "activities.mapped",
		Change: replace(`max(min(after, maxRetryAfter), usualPause(attempt))`, `min(after, maxRetryAfter)`),
		Find:   by("activities", "TestAThrottledTryWaitsAsLongAsAnother"),
	},
	{
		Name: "an activity that hangs beats", Symbol: "activities.heartbeat", Change: never(`silence > maxSilence`),
		Find: by("activities", "TestAnActivityThatMakesNoProgressIsGivenUp"),
	},
	{
		Name: "an epoch is committed with pairs missing", Symbol: "activities.assembly.checkDataset",
		Change: replace(`d.Count != want`, `d.Count > want`),
		Find:   by("workflows", "TestAnEpochWithAnIncompleteDataSetIsNotCommitted"),
	},
	{
		Name: "pairs of a slot that cannot be read are left out", Symbol: "internal/records/runs.Run.PairsIfAny",
		Change: always(`episode.Failed != ""`),
		Find:   by("workflows", "TestNoPairIsLostIfTheStoreDeniesIt"),
	},
	{
		Name: "a data set has its pairs in another order", Symbol: "activities.GPU.gather",
		Change: replace(`own[agent] = append(own[agent], p)`, `own[agent] = append([]domain.Pair{p}, own[agent]...)`),
		Find:   simulated,
	},
	{
		Name: "an update learns from rows that were made for another", Symbol: "activities.fits",
		Change: begin(`return true`),
		Find:   by("activities", "TestAnUpdateLeavesOutRowsThatWereMadeForAnother"),
	},
	{
		Name: "an update on too few rows counts", Symbol: "activities.fails", Change: never(`left < fewest`),
		Find: by("workflows", "TestAnUpdateOnTooFewRowsDoesNotCount"),
	},
	{
		Name: "agents that share parameters are trained each", Symbol: "activities.GPU.update",
		Change: never(`s.Parameters == spec.ParametersShared && id.Agent > 0`),
		Find:   by("workflows", "TestEverySwitchOfTheMethodRunsToItsEnd"),
	},
	{
		Name: "DPO refers to the parent", Symbol: "activities.updateJob",
		Change: replace(`base.Digest`, `u.Parent.Digest`),
		Find:   by("activities", "TestTheReferenceOfAnUpdateIsTheOneAskedFor"),
	},
	{
		Name: "a policy lags by no update", Symbol: "activities.Control.rollsOut",
		Change: replace(`epoch-1-s.Staleness`, `epoch-1`),
		Find:   by("workflows", "TestStalePoliciesLagByOneUpdate"),
	},
	{
		Name: "the best epoch may be one that was rolled back", Symbol: "activities.Control.best",
		Change: never(`e.Kept != ""`),
		Find:   by("workflows", "TestAnEpochThatLosesOnValIsRolledBack"),
	},
	{
		Name: "a task of val that is lost counts as played", Symbol: "activities.partOf",
		Change: never(`ep.Outcome.Void != ""`),
		Find:   by("workflows", "TestATaskAtFaultIsMissingInATestAndNoFailure"),
	},
	{
		Name: "a schedule overrules a person who changed the line", Symbol: "activities.Control.rule",
		Change: replace(`e.Verb = lines.Reject`, ``),
		Find:   by("workflows", "TestASystemIsRejectedIfSomebodyChangedTheLineMeanwhile"),
	},
	{
		Name:   "a run of a name is taken for another one",
		Symbol: "activities.versions.still", Change: begin(`return true`),
		Find: by("activities", "TestARunOfTheSameFileIsAnotherRun"),
	},
	{
		Name: "a refused prompt is a mistake of the agent", Symbol: "internal/method/credit.Oracle",
		Change: never(`cell.Refused != ""`),
		Find:   by("workflows", "TestARefusedPromptIsACellThatSaysNothing"),
	},
}
