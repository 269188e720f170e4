package mutants

// orchestration are bugs in workflows: order, pauses, stops, windows, firings.
var orchestration = []Mutant{
	{
		Name: "what a person accepted is forgotten", Symbol: "workflows.askAPerson", Change: never(`plan.Accepted`),
		Find: by("workflows", "TestARunGoesOnWithoutFailedSlotsWhenAPersonSaysSo"),
	},
	{
		Name: "failed slots ask nobody", Symbol: "workflows.askAPerson",
		Change: never(`float64(tally.Failed) > share*float64(plan.Slots)`),
		Find:   by("workflows", "TestAPersonIsAskedAboveEachShare"),
	},
	{
		Name: "a pause for infrastructure waits for a person", Symbol: "workflows.runState.awaitRepair",
		Change: replace(`r.status.Held || !again`, `r.status.Held || !again || true`), Find: simulated,
	},
	{
		Name: "a stage that fails ends the run", Symbol: "workflows.runState.act",
		Change: always(`ctx.Err() != nil || workflow.IsContinueAsNewError(err)`), Find: simulated,
	},
	{
		Name: "a stop is forgotten", Symbol: "workflows.runState.stop",
		Change: replace(`r.status.Stopping = true`, `r.status.Stopping = false`),
		Find:   by("workflows", "TestAnEpochWithAnIncompleteDataSetIsNotCommitted"),
	},
	{
		Name: "a fault that passes ends the pause of a person", Symbol: "workflows.runState.awaitRepair",
		Change: replace(`r.status.Held || !again`, `!again`),
		Find:   by("workflows", "TestAPersonsPauseHoldsThroughFaultsThatPass"),
	},
	{
		Name: "a shard opens all of its episodes", Symbol: "workflows.window.each", Change: always(`w.open < w.size`),
		Find: by("workflows", "TestAShardKeepsAWindowOfEpisodesOpen"),
	},
	{
		Name: "a pause does not reach the episodes", Symbol: "workflows.window.each", Change: always(`!w.paused`),
		Find: by("workflows", "TestAPausedShardSchedulesNothing"),
	},
	{
		Name: "a worker begins episodes while a person holds the run", Symbol: "activities.Runs.CheckHold",
		Change: never(`order != nil && order.Verb == runs.VerbPause`),
		Find:   by("workflows", "TestAPauseHoldsWhateverTheRunDoes"),
	},
	{
		Name: "a run that is started again stays held", Symbol: "activities.Runs.Order",
		Change: always(`newest == nil || newest.Verb == runs.VerbResume || !newest.At.Before(since)`),
		Find:   by("workflows", "TestARunThatIsStartedAgainIsResumed"),
	},
	{
		Name: "a pause that Temporal forgot does not hold", Symbol: "workflows.runState.remind",
		Change: always(`asked == nil || asked.At.Before(r.in.Asked)`),
		Find:   by("workflows", "TestACommandThatTemporalForgotHoldsTheRun"),
	},
	{
		Name: "a child that somebody cancelled ends the run", Symbol: "workflows.childError",
		Change: never(`temporal.IsCanceledError(err)`),
		Find:   by("workflows", "TestAChildThatSomebodyCancelledHoldsTheRun"),
	},
	{
		Name: "a child that is still open pauses the run", Symbol: "workflows.runState.awaitRepair",
		Change: never(`stillOpen(failed) && r.opens < openTries`),
		Find:   by("workflows", "TestAChildThatIsStillOpenIsWaitedForSeconds"),
	},
	{
		Name: "a run that waits never continues as new", Symbol: "workflows.Run",
		Change: never(`state.rounds >= maxRounds || state.rounds > 0 && renews(ctx)`),
		Find:   by("workflows", "TestARunWaitsForMonths"),
	},
	{
		Name: "slow work shares the queue of what people wait for", Symbol: "workflows.long",
		Change: replace(`QueueCare`, `QueueControl`),
		Find:   by("workflows", "TestNothingSlowIsInTheQueueOfWhatPeopleWaitFor"),
	},
	{
		Name: "a wide window opens four shards", Symbol: "workflows.openShards",
		Change: begin(`return OpenShards`),
		Find:   by("workflows", "TestAWideWindowOpensAsManyShardsAsItNeeds"),
	},
	{
		Name: "a firing that nobody approved is promoted", Symbol: "workflows.firing.rule",
		Change: replace(`ruling.Accepted = false`, `ruling.Accepted = true`),
		Find:   by("workflows", "TestAPersonApprovesInTime"),
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
		Name: "all runs have one fairness key", Symbol: "workflows.on",
		Change: replace(`FairnessKey: run`, `FairnessKey: run[:0]`),
		Find:   by("workflows", "TestEveryActivityOfARunHasItsFairnessKey"),
	},
}
