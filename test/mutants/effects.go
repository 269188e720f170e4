package mutants

// effects are bugs in the results that activities adopt, compare, refuse and retry.
var effects = []Mutant{
	{
		Name: "a worker of another version grades", Symbol: "activities/grade.grading.label",
		Change: replace(`g.Runs.CheckVersions(ctx, specification, g.Epoch, nil)`, `error(nil)`), Find: simulated,
	},
	{
		Name: "a worker of another version trains", Symbol: "activities/update.GPU.update",
		Change: replace(`g.Runs.CheckVersions(ctx, specification, id.Epoch, nil)`, `error(nil)`), Find: simulated,
	},
	{
		Name: "a worker with another kernel is the same", Symbol: "activities.Runs.CheckVersions",
		Change: replace(`compare("the kernel", here.Kernel, want.Kernel)`, ``),
		Find:   by("activities", "TestAWorkerWithOtherVersionsThanTheEpochsIsRefused"),
	},
	{
		Name: "a replay that shows another screen goes on", Symbol: "internal/method/attempt.slotState.step",
		Change: never(`step.ObservationDigest != seen`), Find: simulated,
	},
	{
		Name: "the decisions of another attempt have other seeds", Symbol: "internal/method/attempt.slotState.step",
		Change: replace(`domain.Seed(a.task.Seed, "step", turn.Number)`,
			`domain.Seed(a.task.Seed, "step", t.Number, a.attempt)`),
		Find: simulated,
	},
	{
		Name:   "an episode keeps the steps of the environment that broke",
		Symbol: "internal/method/attempt.slotState.episode",
		Change: replace(`e = runs.Episode{}`, ``), Find: simulated,
	},
	{
		Name: "a step is decided again in another environment", Symbol: "internal/method/attempt.slotState.episode",
		Change: replace(`a.fresh = false`, ``),
		Find:   by("workflows", "TestWhatIsRecordedIsNotDecidedAgainInAnotherEnvironment"),
	},
	{
		Name:   "what cannot be replayed goes on in another environment",
		Symbol: "internal/method/attempt.slotState.begin",
		Change: never(`err == nil && begun`),
		Find:   by("workflows", "TestAnAttemptThatCannotBeResumedIsVoidAndTheNextBeginsAnew"),
	},
	{
		Name: "slots that failed are not played again", Symbol: "internal/method/attempt.slotState.untilDone",
		Change: always(`err != nil || !again`),
		Find:   by("workflows", "TestFailedSlotsArePlayedAgainWhenAPersonSaysSo"),
	},
	{
		Name: "eight void attempts fail a slot", Symbol: "internal/method/attempt.slotState.play",
		Change: replace(`a.replaced <= episode.MaxReplacements`,
			`a.replaced <= episode.MaxReplacements && a.attempt <= 8`),
		Find: by("workflows", "TestInfrastructureNeverFailsASlot"),
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
		Change: replace(`max(min(after, maxRetryAfter), UsualPause(attempt))`, `min(after, maxRetryAfter)`),
		Find:   by("activities", "TestAThrottledTryWaitsAsLongAsAnother"),
	},
	{
		Name: "an activity that hangs beats", Symbol: "activities.heartbeat", Change: never(`silence > maxSilence`),
		Find: by("activities", "TestAnActivityThatMakesNoProgressIsGivenUp"),
	},
	{
		Name: "an epoch is committed with pairs missing", Symbol: "activities/epoch.assembly.checkDataset",
		Change: replace(`dataset.Count != want`, `dataset.Count > want`),
		Find:   by("workflows", "TestAnEpochWithAnIncompleteDataSetIsNotCommitted"),
	},
	{
		Name: "pairs of a slot that cannot be read are left out", Symbol: "internal/records/runs.Run.PairsIfAny",
		Change: always(`episode.Failed != ""`),
		Find:   by("workflows", "TestNoPairIsLostIfTheStoreDeniesIt"),
	},
	{
		Name: "a data set has its pairs in another order", Symbol: "activities/update.GPU.gather",
		Change: replace(`own[agent] = append(own[agent], p)`,
			`own[agent] = append([]domain.Example{p}, own[agent]...)`),
		Find: simulated,
	},
	{
		Name: "an update learns from rows that were made for another", Symbol: "activities/update.fitsUpdate",
		Change: begin(`return true`),
		Find:   by("activities/update", "TestAnUpdateLeavesOutRowsThatWereMadeForAnother"),
	},
	{
		Name: "an update on too few rows counts", Symbol: "activities/update.whyKept", Change: never(`left < fewest`),
		Find: by("workflows", "TestAnUpdateOnTooFewRowsDoesNotCount"),
	},
	{
		Name: "agents that share parameters are trained each", Symbol: "activities/update.GPU.update",
		Change: never(`specification.Parameters == spec.ParametersShared && id.Agent > 0`),
		Find:   by("workflows", "TestEverySwitchOfTheMethodRunsToItsEnd"),
	},
	{
		Name: "DPO refers to the parent", Symbol: "activities/update.updateJob",
		Change: replace(`base.Digest`, `update.Parent.Digest`),
		Find:   by("activities/update", "TestTheReferenceOfAnUpdateIsTheOneAskedFor"),
	},
	{
		Name: "a policy lags by no update", Symbol: "activities/epoch.Control.rollsOut",
		Change: replace(`epoch-1-specification.Staleness`, `epoch-1`),
		Find:   by("workflows", "TestStalePoliciesLagByOneUpdate"),
	},
	{
		Name: "the best epoch may be one that was rolled back", Symbol: "activities/evaluate.Control.best",
		Change: never(`e.Kept != ""`),
		Find:   by("workflows", "TestAnEpochThatLosesOnValIsRolledBack"),
	},
	{
		Name: "a task of val that is lost counts as played", Symbol: "activities/evaluate.partOf",
		Change: never(`outcome.Void != ""`),
		Find:   by("workflows", "TestATaskAtFaultIsMissingInATestAndNoFailure"),
	},
	{
		Name: "a schedule overrules a person who changed the line", Symbol: "activities/retrain.Control.rule",
		Change: replace(`e.Verb = lines.Reject`, ``),
		Find:   by("workflows", "TestASystemIsRejectedIfSomebodyChangedTheLineMeanwhile"),
	},
	{
		Name:   "a run of a name is taken for another one",
		Symbol: "activities.knownRun.confirm", Change: begin(`return true`),
		Find: by("activities", "TestARunOfTheSameFileIsAnotherRun"),
	},
	{
		Name: "a refused prompt is a mistake of the agent", Symbol: "internal/method/credit.Oracle",
		Change: never(`cell.Refused != ""`),
		Find:   by("workflows", "TestARefusedPromptIsACellThatSaysNothing"),
	},
}
