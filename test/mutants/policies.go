package mutants

// policies are bugs of the servers of policies, of chat endpoints and of their budgets and limits.
var policies = []Mutant{
	{
		Name:   "a page of another site is answered",
		Symbol: "internal/policy/serving.Guard", Change: never(`foreign(r)`),
		Find: by("internal/policy/serving", "TestALoopbackServerAnswersNoForeignPage"),
	},
	{
		Name: "any key is accepted", Symbol: "internal/policy/serving.Allowed", Change: begin(`return true`),
		Find: by("internal/policy/serving", "TestAllowedComparesTheBearerToken"),
	},
	{
		Name: "the engine answers by another policy", Symbol: "internal/policy/gateway.Gateway.pass",
		Change: replace(`json.Marshal(h.model)`, `json.Marshal("base")`),
		Find:   by("internal/policy/gateway", "TestEveryAnswerIsOfThePolicyThatWasNamed"),
	},
	{
		Name: "an adapter of another base model is served", Symbol: "internal/policy/gateway.Gateway.artifact",
		Change: never(`a.Base.Digest != g.Model.Digest`),
		Find:   by("internal/policy/gateway", "TestWhatCannotBeServedIsRefusedWithTheReason"),
	},
	{
		Name: "a policy that is in use is unloaded", Symbol: "internal/policy/gateway.Gateway.acquire",
		Change: replace(`p.out++`, ``),
		Find:   by("internal/policy/gateway", "TestABusyAdapterStaysUntilItHasDrained"),
	},
	{
		Name: "an engine takes its own sampling parameters", Symbol: "internal/policy/gateway.readChat",
		Change: never(`len(given) == 0 || string(given) == "null"`),
		Find:   by("internal/policy/gateway", "TestARequestIsChangedOnlyWhereItMust"),
	},
	{
		Name: "the engine is woken while its lease holds", Symbol: "internal/policy/gateway.Gateway.tend",
		Change: replace(`asleep && over`, `asleep && (over || true)`),
		Find:   by("internal/policy/gateway", "TestTheEngineSleepsForALease"),
	},
	{
		Name:   "a spent budget asks on",
		Symbol: "internal/policy/endpoints.spending.exceeded", Change: begin(`return nil`),
		Find: by("internal/policy/endpoints", "TestASpentBudgetIsAnExhaustedFaultThatNamesTheCommands"),
	},
	{
		Name: "calls of other workers cost nothing", Symbol: "internal/policy/endpoints.ledger.refresh",
		Change: never(`budget != (spec.Budget{})`),
		Find:   by("internal/policy/endpoints", "TestCallsOfOtherWorkersCountTowardsTheBudget"),
	},
	{
		Name: "a run owes for another one of its name", Symbol: "internal/policy/endpoints.ledger.refresh",
		Change: never(`x.of != identity`),
		Find:   by("internal/policy/endpoints", "TestARunOwesNothingForAnotherOneOfItsName"),
	},
	{
		Name: "people are told of a budget again and again", Symbol: "internal/policy/endpoints.ledger.warning",
		Change: never(`x.warned == x.budget`),
		Find:   by("internal/policy/endpoints", "TestPeopleAreToldOnceWhenABudgetIsNearlySpent"),
	},
	{
		Name: "calls that differ in their role share an answer", Symbol: "internal/policy/endpoints.recording.Complete",
		Change: replace(`identity{c.name, c.model.BaseURL, c.role, r}`, `identity{c.name, c.model.BaseURL, "", r}`),
		Find:   by("internal/policy/endpoints", "TestTwoRolesOfOneModelAreAskedEachOnTheirOwn"),
	},
	{
		Name: "a throttled call is tried at once", Symbol: "internal/policy/endpoints.recording.ask",
		Change: replace(`fault.KindOf(err) != fault.Transient`,
			`fault.KindOf(err) != fault.Transient && fault.KindOf(err) != fault.Throttled`),
		Find: by("internal/policy/endpoints", "TestATransientFaultIsTriedThreeTimesAndAThrottledOneIsNot"),
	},
	{
		Name: "a worker without Redis takes the share of all", Symbol: "internal/policy/limits.Limiter.alone",
		Change: replace(`wait, share := 0.0, float64(l.peers)`, `wait, share := 0.0, 1.0`),
		Find:   by("internal/policy/limits", "TestAWorkerAloneKeepsToItsShare"),
	},
}
