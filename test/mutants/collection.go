package mutants

// collecting returns the arguments of `go test` for tests of collections, and of copies beside them.
func collecting(tests ...string) []string { return by("internal/care/collect", tests...) }

// collected are the arguments for all of these tests.
var collected = []string{"./internal/care/collect"}

// collection are bugs in removing objects, in restoring them, and in copying them elsewhere.
var collection = []Mutant{
	{
		Name:   "gc deletes an object instead of putting it into the trash",
		Symbol: "internal/care/collect.collector.copy",
		Change: replace(`err := c.b.Copy(ctx, key, store.TrashKey(key, c.lock.Number))`, `var err error`),
		Find:   collecting("TestABlobComesBackFromTheTrash"),
	},
	{
		Name: "gc removes what is young", Symbol: "internal/care/collect.collector.aged",
		Change: always(`c.now.Sub(at) > c.p.Grace`),
		Find:   collecting("TestNothingOfALiveRunIsRemovedButCheckpoints"),
	},
	{
		Name: "gc empties the trash at once", Symbol: "internal/care/collect.collector.empty",
		Change: always(`c.before.At.Sub(aged.Written) > c.p.Grace && c.aged(aged.Written)`),
		Find:   collecting("TestABlobComesBackFromTheTrash"),
	},
	{
		Name: "one collection alone empties the trash", Symbol: "internal/care/collect.collector.empty",
		Change: always(`c.before.At.Sub(aged.Written) > c.p.Grace`), Find: collected,
	},
	{
		Name: "gc gives nothing back from the trash", Symbol: "internal/care/collect.collector.empty",
		Change: never(`c.kept[key] && !exists`),
		Find:   collecting("TestABlobComesBackFromTheTrash"),
	},
	{
		Name: "a LIST that leaves out a key removes a run", Symbol: "internal/care/collect.collector.judgeRun",
		Change: replace(`if exists, err := c.leftOut(ctx, x.Spec().Key); err != nil || exists { return err }`, ``),
		Find:   collecting("TestOneOmittedKeyOfAListRemovesNoRun"),
	},
	{
		Name: "a LIST that is cut counts as whole", Symbol: "internal/care/collect.collector.leftOut",
		Change: never(`written.Before(c.now.Add(-time.Second))`),
		Find:   collecting("TestAStoreThatContradictsItselfIsReported"),
	},
	{
		Name: "one collection alone calls a run unfinished", Symbol: "internal/care/collect.collector.judgeRun",
		Change: replace(`known && c.aged(since)`, `true`),
		Find:   collecting("TestManyRunsWithoutASpecificationAreNotRemovedAtOnce"),
	},
	{
		Name: "more goes at once than deletions explain", Symbol: "internal/care/collect.collector.explain",
		Change: never(`n > max(fewBlobs, blobs/share)`), Find: collected,
	},
	{
		Name: "gc goes on beside a damaged manifest", Symbol: "internal/care/collect.collector.refs",
		Change: replace(`verify.Inspect(key, raw)`,
			`func() ([]string, error) { refs, _ := verify.Inspect(key, raw); return refs, nil }()`),
		Find: collecting("TestADamagedManifestStopsTheCollection"),
	},
	{
		Name: "retention takes the best epoch", Symbol: "internal/care/collect.collector.retention",
		Change: replace(`map[int]bool{end.Best: true}`, `map[int]bool{end.Best: false}`),
		Find:   collecting("TestRetentionKeepsTheBestEpoch"),
	},
	{
		Name: "checkpoints of open training are removed", Symbol: "internal/care/collect.collector.endings",
		Change: replace(`c.ended[end] = err == nil`, `c.ended[end] = true`),
		Find:   collecting("TestCheckpointsOfTrainingThatGoesOnStay"),
	},
	{
		Name: "two collect at once", Symbol: "internal/care/hold.Lock.free", Change: never(`age < Stale`),
		Find: by("internal/care/hold", "TestTwoDoNotHoldTheLockAtOnce"),
	},
	{
		Name: "a copy gives no signs", Symbol: "internal/care/hold.writer.sign", Change: begin(`return nil`),
		Find: collecting("TestACopyThatTakesLongerThanTheGraceLosesNothing"),
	},
	{
		Name: "a copy does not look again", Symbol: "internal/care/transfer.transfer.complete",
		Change: begin(`return nil`),
		Find:   collecting("TestACopyThatStandsStillForLongerThanTheGraceLosesNothing"),
	},
	{
		Name: "a deletion looks once", Symbol: "internal/care/collect.Delete",
		Change: replace(`if err := checkUnneeded(ctx, keeper, name, running); err != nil {
			return errors.Join(err, keeper.Delete(context.WithoutCancel(ctx), name.Deleted().Key))
		}`, `_ = errors.Join`),
		Find: collecting("TestWhatSomethingNeedsIsNotDeleted"),
	},
	{
		Name: "what a line accepts is deleted", Symbol: "internal/care/collect.inLine",
		Change: begin(`return "", nil`),
		Find:   collecting("TestWhatSomethingNeedsIsNotDeleted"),
	},
	{
		Name: "a copy mixes two runs of a name", Symbol: "internal/care/transfer.transfer.sameRun",
		Change: never(`!bytes.Equal(ours, theirs)`), Find: by("internal/care/transfer", "TestACopyNeverMixesTwoRuns"),
	},
}
