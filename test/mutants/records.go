package mutants

// records are bugs in the meaning of records.
var records = []Mutant{
	{
		Name: "a void attempt is the episode of its slot", Symbol: "internal/records/runs.Run.ends",
		Change: replace(`episode.Void == ""`, `true`),
		Find:   by("workflows", "TestVoidAttemptsAreKeptAndReplacementsCount"),
	},
	{
		Name: "a run continues one epoch too late", Symbol: "internal/store.Last",
		Change: replace(`after + from + rest`, `after + from + rest + 1`),
		Find:   by("internal/store", "TestTheEndOfALogIsFoundWithFewReads"),
	},
	{
		Name: "a log ends where the store does not answer", Symbol: "internal/store.Last",
		Change: replace(`failed = err`, ``),
		Find:   by("internal/store", "TestTheEndOfALogIsFoundWithFewReads"),
	},
	{
		Name:   "an epoch after a rollback begins with the system that lost",
		Symbol: "internal/records/runs.Run.Standing",
		Change: replace(`return e.System, err`,
			`if err == nil { return r.System(ctx, b, epoch, n) }; return e.System, err`),
		Find: by("workflows", "TestAnEpochThatLosesOnValIsRolledBack"),
	},
	{
		Name: "values count that come too late", Symbol: "internal/records/runs.Run.tooLate",
		Change: begin(`return nil`),
		Find:   by("cmd/collabui/run", "TestAChangeThatComesTooLateIsRefused"),
	},
	{
		Name: "a fork exists before it is whole", Symbol: "internal/care/fork.Fork.Make",
		Change: begin(`if _, _, err := f.name.Spec().Record(ctx, b, func() (spec.Spec, error) { return f.spec, nil });
			err != nil { return err }`),
		Find: by("workflows", "TestAForkThatWasCutShortGoesOn"),
	},
}
