package mutants

// removal are bugs that take away one condition each of the proof in decision record 45.
var removal = []Mutant{
	{
		Name: "the age of objects follows from the collector's clock", Symbol: "internal/store/hold.Lock.Now",
		Change: begin(`return time.Now()`), Find: collecting("TestAClockThatIsAheadRemovesNothingYoung"),
	},
	{
		Name: "the age of the lock follows from the asker's clock", Symbol: "internal/store/hold.Lock.free",
		Change: replace(`serverNow(ctx, l.b)`, `time.Now(), error(nil)`),
		Find:   by("internal/store/hold", "TestTwoDoNotHoldTheLockAtOnce"),
	},
	{
		Name: "a writer does not wait for a collection that is at work", Symbol: "internal/store/hold.writer.settle",
		Change: begin(`return w.sign(ctx)`),
		Find:   by("internal/store/hold", "TestAWriterWaitsForACollectionThatDidNotSeeItsMark"),
	},
	{
		Name: "a blob whose write failed is believed if a reader sees it", Symbol: "internal/store.S3.putOnce",
		Change: never(`err == nil && failed && IsBlob(key)`),
		Find:   by("internal/store", "TestABlobWhoseWriteFailedIsWrittenAgainWhateverReadersSee"),
	},
}
