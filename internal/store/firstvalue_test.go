package store_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/firstvalue"
)

// TestRecordOnceGivesEveryCallerTheFirstValue has a counterpart for a real server, TestTheS3ServerKeepsTheFirstValue.
func TestRecordOnceGivesEveryCallerTheFirstValue(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]store.Bucket{"memory": &store.Memory{}, "S3": (&faulty{}).open(t)} {
		if err := firstvalue.Try(t.Context(), b, "tried/"); err != nil {
			t.Errorf("%s: %v, want the first value everywhere", name, err)
		}
	}

	err := firstvalue.Try(t.Context(), (&faulty{deaf: true}).open(t), "tried/")
	for _, want := range []string{
		`the second caller got "second"`, `the store has "second"`, "callers were told that they had written",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a server that ignores If-None-Match: %v, want %q", err, want)
		}
	}
}
