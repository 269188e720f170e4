package mutants

// collecting finds a bug by tests of collections, and of copies beside them.
func collecting(tests ...string) []string { return by("internal/store/collect", tests...) }

// collection are bugs of what removes objects, of what takes them back, and of what copies them elsewhere.
var collection = []Mutant{
	{
		Name:   "gc deletes an object instead of putting it into the trash",
		Symbol: "internal/store/collect.collector.copy",
		Change: replace(`err := c.b.Copy(ctx, key, store.TrashKey(key, c.lock.Number))`, `var err error`),
		Find:   collecting("TestABlobComesBackFromTheTrash"),
	},
	{
		Name: "gc removes what is young", Symbol: "internal/store/collect.collector.aged",
		Change: always(`c.now.Sub(at) > c.p.Grace`),
		Find:   collecting("TestNothingOfALiveRunIsRemovedButCheckpoints"),
	},
	{
		Name: "gc empties the trash at once", Symbol: "internal/store/collect.collector.empty",
		Change: always(`c.before.At.Sub(o.Written) > c.p.Grace && c.aged(o.Written)`),
		Find:   collecting("TestABlobComesBackFromTheTrash"),
	},
	{
		Name: "gc gives nothing back from the trash", Symbol: "internal/store/collect.collector.empty",
		Change: never(`c.kept[key] && !there`),
		Find:   collecting("TestABlobComesBackFromTheTrash"),
	},
	{
		Name: "gc goes on beside a damaged manifest", Symbol: "internal/store/collect.collector.refs",
		Change: replace(`verify.Inspect(key, raw)`,
			`func() ([]string, error) { refs, _ := verify.Inspect(key, raw); return refs, nil }()`),
		Find: collecting("TestADamagedManifestStopsTheCollection"),
	},
	{
		Name: "a copy gives no signs", Symbol: "internal/store/hold.writer.sign", Change: begin(`return nil`),
		Find: collecting("TestACopyThatTakesLongerThanTheGraceLosesNothing"),
	},
	{
		Name: "a deletion looks once", Symbol: "internal/store/collect.Delete",
		Change: replace(`if err := needed(ctx, b, name, running); err != nil {
			return errors.Join(err, b.Delete(context.WithoutCancel(ctx), name.Deleted().Key))
		}`, ``),
		Find: collecting("TestWhatSomethingNeedsIsNotDeleted"),
	},
	{
		Name: "what a line accepts is deleted", Symbol: "internal/store/collect.inLine",
		Change: begin(`return "", nil`),
		Find:   collecting("TestWhatSomethingNeedsIsNotDeleted"),
	},
	{
		Name: "a copy mixes two runs of a name", Symbol: "internal/store/transfer.transfer.sameRun",
		Change: never(`!bytes.Equal(here, there)`), Find: by("internal/store/transfer", "TestACopyNeverMixesTwoRuns"),
	},
}
