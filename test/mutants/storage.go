package mutants

// storage are bugs in the store's client: writing once, reading back, the meaning of absence, and failing requests.
var storage = []Mutant{
	{
		Name: "half a blob stays", Symbol: "internal/store.PutBlob",
		Change: replace(`fault.KindOf(err) == fault.Corrupt`, `fault.KindOf(err) == ""`),
		Find:   by("internal/store", "TestABlobThatWasWrittenByHalfIsWrittenAgain"),
	},
	{
		Name: "half a file stays", Symbol: "internal/store.PutBlobFile",
		Change: never(`fault.KindOf(err) == fault.Corrupt`),
		Find:   by("internal/store", "TestAFileThatWasSentByHalfIsSentAgain"),
	},
	{
		Name: "a blob is named before it is read back", Symbol: "internal/store.PutBlob",
		Change: replace(`err := readBack(ctx, bucket, sum)`, `var err error`),
		Find:   by("internal/store", "TestABlobIsReadBackBeforeItIsNamed"),
	},
	{
		Name: "a blob with other bytes is read", Symbol: "internal/store.getBlob", Change: never(`Sum(body) != sum`),
		Find: by("internal/store", "TestBytesWithAnotherHashAreNotRead"),
	},
	{
		Name: "a file with other bytes is written", Symbol: "internal/store.GetBlobFile",
		Change: never(`hex.EncodeToString(digest.Sum(nil)) != sum`),
		Find:   by("internal/store", "TestBytesWithAnotherHashAreNotWritten"),
	},
	{
		Name:   "a file that changes is sent whole",
		Symbol: "internal/store.verified.Read", Change: never(`mismatch || short`),
		Find: by("internal/store", "TestBytesOfAFileThatChangesAreNeverSentWhole"),
	},
	{
		Name: "every 404 says that an object does not exist", Symbol: "internal/store.noSuchKey",
		Change: always(`errorResponse.XMLName.Local == "Error"`),
		Find:   by("internal/store", "TestOnlyAnS3ServerSaysThatAnObjectDoesNotExist"),
	},
	{
		Name: "a conflict counts as an object that exists", Symbol: "internal/store.S3.putOnce",
		Change: replace(`if status(err) != http.StatusConflict || try == conflicts-1 { break }`,
			`if status(err) == http.StatusConflict { return false, nil }; break`),
		Find: by("internal/store", "TestAConflictIsTriedAgain"),
	},
	{
		Name: "an object that is said to exist is not looked for", Symbol: "internal/store.S3.putOnce",
		Change: replace(`_, err = s.client.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{})`, `err = nil`),
		Find:   by("internal/store", "TestAnObjectThatIsSaidToExistIsLookedFor"),
	},
	{
		Name: "a write whose answer is lost counts as done", Symbol: "internal/store.S3.putOnce",
		Change: replace(`return false, fault.New(fault.Transient, "write %s: %w", key, err)`, `return true, nil`),
		Find:   simulated,
	},
	{
		Name: "half a body counts as the whole", Symbol: "internal/store.S3.copy",
		Change: replace(`if err == nil && n < info.Size { err = io.ErrUnexpectedEOF }`,
			`_, _ = n, info; if err == io.ErrUnexpectedEOF { err = nil }`),
		Find: simulated,
	},
	{
		Name: "a copy that is said to be there is not looked for", Symbol: "internal/store.S3.Copy",
		Change: never(`sizes[0] != sizes[1]`),
		Find:   by("internal/store", "TestACopyThatIsSaidToBeThereIsLookedFor"),
	},
	{
		Name: "a request that stalls is waited for", Symbol: "internal/store.watchedBody.Read",
		Change: replace(`b.stalled.Reset(b.limit)`, `b.stalled.Stop()`),
		Find:   by("internal/store", "TestARequestThatMakesNoProgressEnds"),
	},
	{
		Name: "a server that copies may not be silent", Symbol: "internal/store.serverWorks", Change: begin(`return 0`),
		Find: by("internal/store", "TestAServerThatCopiesMayBeSilent"),
	},
	{
		Name: "a manifest with other bytes is read", Symbol: "internal/store.Unseal",
		Change: always(`Sum(body) == string(sum)`),
		Find:   by("internal/store", "TestEveryFlippedBitOfAManifestIsCorrupt"),
	},
	{
		Name: "a recorded value is made again", Symbol: "internal/store.RecordOnce",
		Change: never(`!errors.Is(err, ErrNotFound)`),
		Find:   by("internal/store", "TestRecordOnceDoesNotMakeARecordedValueAgain"),
	},
	{
		Name: "the second writer keeps its own value", Symbol: "internal/store.WriteOnce", Change: never(`!wrote`),
		Find: by("internal/store", "TestWriteOnceSaysWhoWroteTheFirstValue"),
	},
	{
		Name: "a record is not recorded if the store fails", Symbol: "internal/store.WriteOnce",
		Change: replace(`if wrote, err = bucket.PutOnce(ctx, key, raw); err != nil { return v, Ref{}, false, err }`,
			`if wrote, err = bucket.PutOnce(ctx, key, raw); err != nil { return v, refTo(key, raw), true, nil }`),
		Find: simulated,
	},
}
