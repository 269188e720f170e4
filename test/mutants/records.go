package mutants

// planted checks the validators by the violations that it plants.
var planted = by("internal/store/verify", "TestEveryPlantedViolationIsFound")

// records are bugs of what records mean, and of what fsck and the validators find.
var records = []Mutant{
	{
		Name: "a void attempt is the episode of its slot", Symbol: "internal/store/runs.Run.ends",
		Change: replace(`e.Void == ""`, `true`),
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
		Name: "an epoch after a rollback begins with the system that lost", Symbol: "internal/store/runs.Run.Standing",
		Change: replace(`return e.System, err`,
			`if err == nil { return r.System(ctx, b, epoch, n) }; return e.System, err`),
		Find: by("workflows", "TestAnEpochThatLosesOnValIsRolledBack"),
	},
	{
		Name: "a slot with an episode is left out", Symbol: "internal/store/runs.Run.Skip",
		Change: replace(`return fault.New(fault.Invalid, "slot %d of epoch %d has an episode already", slot, epoch)`,
			`return nil`),
		Find: by("internal/store/runs", "TestASlotThatHasAnEpisodeIsNotLeftOut"),
	},
	{
		Name: "slots that agents were trained on are played again", Symbol: "internal/store/runs.Run.Retry",
		Change: replace(`if trains {
			return nil, fault.New(fault.Invalid,
				"the agents are trained on epoch %d already: its slots cannot be retried", epoch)
		}`, `_ = trains`),
		Find: by("internal/store/runs", "TestWhatAgentsWereTrainedOnIsNotRetried"),
	},
	{
		Name: "values count that come too late", Symbol: "internal/store/runs.Run.late", Change: begin(`return nil`),
		Find: by("cmd/collabui", "TestAChangeThatComesTooLateIsRefused"),
	},
	{
		Name: "of two who change a line, the second is told nothing", Symbol: "internal/store/lines.Line.Append",
		Change: never(`runs.Digest(got) != runs.Digest(e)`),
		Find:   by("internal/store/lines", "TestOfTwoPeopleOneIsToldWhatTheOtherDid"),
	},
	{
		Name: "a line accepts what was rejected", Symbol: "internal/store/lines.Line.Standing",
		Change: always(`e.Verb != Reject`),
		Find:   by("internal/store/lines", "TestALineAcceptsExactlyOneSystem"),
	},
	{
		Name: "a fork exists before it is whole", Symbol: "internal/store/fork.Fork.Make",
		Change: begin(`if _, _, err := f.name.Spec().Record(ctx, b, func() (spec.Spec, error) { return f.spec, nil });
			err != nil { return err }`),
		Find: by("workflows", "TestAForkThatWasCutShortGoesOn"),
	},
	{
		Name: "a fork takes the name of another", Symbol: "internal/store/fork.Fork.free",
		Change: always(`runs.Digest(begun.Values) == runs.Digest(f.Origin.Values)`),
		Find:   by("internal/store/fork", "TestANameIsThatOfOneForkOnly"),
	},
	{
		Name: "fsck reads no hash of a blob", Symbol: "internal/store/verify.inspect",
		Change: never(`key != store.BlobPrefix+hex.EncodeToString(sum[:])`),
		Find:   by("internal/store/verify", "TestFsckNamesABlobWithOtherBytesThatNothingRefersTo"),
	},
	{
		Name: "fsck overlooks what is missing", Symbol: "internal/store/verify.checker.report",
		Change: replace(`c.say(r.key, "missing; named by "+r.by)`, ``),
		Find:   by("internal/store/verify", "TestFsckNamesAMissingObject"),
	},
	{
		Name: "fsck takes a store that does not answer for a verdict", Symbol: "internal/store/verify.checker.check",
		Change: never(`err != nil && !missing`),
		Find:   by("internal/store/verify", "TestAStoreThatDoesNotAnswerIsNotAVerdictOnItsObjects"),
	},
	{
		Name: "validators let a slot be committed twice", Symbol: "internal/store/verify.validator.slots",
		Change: replace(`seen[r.Slot] = true`, ``), Find: planted,
	},
	{
		Name: "validators let slots be missing", Symbol: "internal/store/verify.validator.epoch",
		Change: never(`len(e.Episodes) != len(slots.Slots)`), Find: planted,
	},
	{
		Name: "validators let another system roll out", Symbol: "internal/store/verify.validator.epoch",
		Change: never(`!same(slots.System, v.played)`), Find: planted,
	},
	{
		Name: "validators let an update be applied twice", Symbol: "internal/store/verify.validator.updates",
		Change: never(`u.Parent != v.system.Policies[a]`), Find: planted,
	},
	{
		Name: "validators let a kept parent be another policy", Symbol: "internal/store/verify.validator.updates",
		Change: never(`u.Kept != "" && u.Policy != u.Parent`), Find: planted,
	},
	{
		Name: "validators do not compute digests", Symbol: "internal/store/verify.validator.epoch",
		Change: never(`d != e.Digest`), Find: planted,
	},
	{
		Name: "validators do not compute the digests of steps", Symbol: "internal/store/verify.validator.episode",
		Change: never(`p.digest != p.episode.Digest`), Find: planted,
	},
	{
		Name: "validators let a slot have two episodes", Symbol: "internal/store/verify.validator.attempts",
		Change: never(`episodes != 1`), Find: planted,
	},
	{
		Name: "validators let labels be of another episode", Symbol: "internal/store/verify.validator.episode",
		Change: never(`!p.credits.Episode.Same(r.Episode)`), Find: planted,
	},
	{
		Name: "validators let pairs be of other labels", Symbol: "internal/store/verify.validator.episode",
		Change: never(`!p.pairs.Credit.Same(r.Credit)`), Find: planted,
	},
	{
		Name: "validators believe what the adversary is said to have answered", Symbol: "internal/store/verify.traces",
		Change: never(`!slices.ContainsFunc(calls, proposed)`), Find: planted,
	},
	{
		Name: "validators let an answer be chosen that is not right", Symbol: "internal/store/verify.traces",
		Change: never(`!step.has(p.Chosen, domain.Positive, own)`), Find: planted,
	},
	{
		Name: "validators let a data set have other rows", Symbol: "internal/store/verify.validator.dataset",
		Change: never(`want[n] != printOf(p)`), Find: planted,
	},
	{
		Name: "validators let the final digest be another one", Symbol: "internal/store/verify.validator.end",
		Change: never(`end.FinalDigest != v.digest`), Find: planted,
	},
}
