package mutants

// removal are bugs that each remove one condition of the proof in decision record 45.
var removal = []Mutant{
	{
		Name: "a deletion counts at once", Symbol: "internal/care/collect.collector.judgeRun",
		Change: replace(`err == nil && c.aged(at)`, `err == nil && !at.IsZero()`),
		Find:   collecting("TestADeletionCountsAfterTheGracePeriod"),
	},
	{
		Name: "a dead run is not looked at again before it goes", Symbol: "internal/care/collect.collector.isStillDead",
		Change: begin(`return true, nil`),
		Find:   collecting("TestARunThatBeginsWhileItIsRemovedStays"),
	},
	{
		Name: "the signs of a writer keep nothing", Symbol: "internal/care/collect.collector.judgeRun",
		Change: never(`slices.ContainsFunc(r.keys, func(key string) bool { return !c.old(key) })`), Find: collected,
	},
	{
		Name: "a run is buried of which a LIST showed a part", Symbol: "internal/care/collect.collector.bury",
		Change: never(`err != nil || slices.ContainsFunc(left,
			func(key string) bool { return !slices.Contains(last(r), key) })`),
		Find: collecting("TestADeletedRunKeepsItsRecordWhileAnythingIsLeft"),
	},
	{
		Name: "a run of which a fork is being made goes", Symbol: "internal/care/collect.collector.spare",
		Change: begin(`return nil`), Find: collected,
	},
	{
		Name:   "a collection does not ask for what the one before has kept",
		Symbol: "internal/care/collect.collector.compare",
		Change: begin(`return nil`),
		Find:   collecting("TestAStoreThatContradictsItselfIsReported"),
	},
	{
		Name:   "a manifest that a LIST shows and a read does not is passed over",
		Symbol: "internal/care/collect.collector.read",
		Change: replace(`if !listed { return nil, nil }`, `return nil, nil`),
		Find:   collecting("TestAStoreThatContradictsItselfIsReported"),
	},
	{
		Name: "many runs go at once that have no specification", Symbol: "internal/care/collect.collector.explain",
		Change: never(`unfinished > max(fewRuns, len(c.runs)/share)`),
		Find:   collecting("TestManyRunsWithoutASpecificationAreNotRemovedAtOnce"),
	},
	{
		Name: "all collections have the same keys in the trash", Symbol: "internal/store.TrashKey",
		Change: replace(`fmt.Sprintf("%s%s/%06d", TrashPrefix, key, collection)`,
			`fmt.Sprintf("%s%s/%06d", TrashPrefix, key, min(collection, 1))`),
		Find: collected,
	},
	{
		Name: "a reader does not look into the trash", Symbol: "internal/store.fromTrash",
		Change: begin(`return missing`), Find: by("internal/store", "TestAReaderTakesABlobBackFromTheTrash"),
	},
	{
		Name: "undelete takes no lock", Symbol: "internal/care/collect.Undelete",
		Change: replace(`hold.Do(ctx, b, d.Who,
			func(ctx context.Context, _ *hold.Lock) error { return r.undelete(ctx, name, d) })`,
			`r.undelete(ctx, name, d)`),
		Find: collecting("TestUndeleteIsRefusedBesideACollection"),
	},
	{
		Name: "the age of objects follows from the collector's clock", Symbol: "internal/care/hold.Lock.Now",
		Change: begin(`return time.Now()`), Find: collecting("TestAClockThatIsAheadRemovesNothingYoung"),
	},
	{
		Name: "the age of the lock follows from the asker's clock", Symbol: "internal/care/hold.Lock.free",
		Change: replace(`serverNow(ctx, l.b)`, `time.Now(), error(nil)`),
		Find:   by("internal/care/hold", "TestTwoDoNotHoldTheLockAtOnce"),
	},
	{
		Name: "an owner removes long after it has renewed the lock", Symbol: "internal/care/hold.Lock.Turn",
		Change: replace(`l.renewed.Add(Window)`, `l.renewed.Add(1000 * Window)`), Find: by("internal/care/hold",
			"TestAnOwnerRemovesForAMinuteAtMost"),
	},
	{
		Name: "a writer does not wait for a collection that is at work", Symbol: "internal/care/hold.writer.settle",
		Change: begin(`return w.sign(ctx)`),
		Find:   by("internal/care/hold", "TestAWriterWaitsForACollectionThatDidNotSeeItsMark"),
	},
	{
		Name: "a blob whose write failed is believed if a reader sees it", Symbol: "internal/store.S3.putOnce",
		Change: never(`err == nil && failed && IsBlob(key)`),
		Find:   by("internal/store", "TestABlobWhoseWriteFailedIsWrittenAgainWhateverReadersSee"),
	},
}
