package mutants

// orchestration are bugs of workflows: order, pauses, stops, windows, firings.
var orchestration = []Mutant{
	{
		Name: "what a person accepted is forgotten", Symbol: "workflows.askAPerson", Change: never(`plan.Accepted`),
		Find: by("workflows", "TestARunGoesOnWithoutFailedSlotsWhenAPersonSaysSo"),
	},
	{
		Name: "failed slots ask nobody", Symbol: "workflows.askAPerson",
		Change: never(`float64(t.Failed) > share*float64(plan.Slots)`),
		Find:   by("workflows", "TestAPersonIsAskedAboveEachShare"),
	},
	{
		Name: "a pause for infrastructure waits for a person", Symbol: "workflows.runState.mended",
		Change: replace(`r.status.Held || !again`, `r.status.Held || !again || true`), Find: simulated,
	},
	{
		Name: "a stage that fails ends the run", Symbol: "workflows.runState.act",
		Change: always(`err == nil || temporal.IsCanceledError(err)`), Find: simulated,
	},
	{
		Name: "a stop is forgotten", Symbol: "workflows.runState.stop",
		Change: replace(`r.status.Stopping = true`, `r.status.Stopping = false`),
		Find:   by("workflows", "TestAnEpochWithAnIncompleteDataSetIsNotCommitted"),
	},
	{
		Name: "a shard opens all of its episodes", Symbol: "workflows.Shard", Change: always(`open < wants.window`),
		Find: by("workflows", "TestAShardKeepsAWindowOfEpisodesOpen"),
	},
	{
		Name: "a pause does not reach the episodes", Symbol: "workflows.Shard", Change: always(`!wants.paused`),
		Find: by("workflows", "TestAPauseHoldsTheEpochThatBeganEarly"),
	},
	{
		Name: "a firing that nobody approved is promoted", Symbol: "workflows.firing.rule",
		Change: replace(`r.Accepted, r.Why = false, fmt.Sprintf("nobody approved it within %v (%s)", within, j.Why)`,
			`r.Why = fmt.Sprintf("nobody approved it within %v (%s)", within, j.Why)`),
		Find: by("workflows", "TestAPersonApprovesInTime"),
	},
	{
		Name: "a firing trains where nothing is new", Symbol: "workflows.firing.fire",
		Change: never(`f.found.News == schedules.NewsNone`),
		Find:   by("workflows", "TestAFiringThatFindsNothingNewAsksNoModel"),
	},
	{
		Name:   "people are not told of firings that were missed",
		Symbol: "workflows.firing.fire", Change: never(`n > 0`),
		Find: by("workflows", "TestPeopleAreNotifiedOnceOfFiringsThatWereMissed"),
	},
	{
		Name: "evaluations wait behind rollouts", Symbol: "workflows.urgent", Change: begin(`return ctx`),
		Find: by("workflows", "TestEvaluationsGoBeforeRollouts"),
	},
	{
		Name: "episodes of an early epoch go first", Symbol: "workflows.later",
		Change: replace(`min(3+behind, 5)`, `1`),
		Find:   by("workflows", "TestTheEpisodesOfAnEarlyEpochGoLast"),
	},
}
