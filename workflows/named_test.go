package workflows_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

var digest = regexp.MustCompile(`[0-9a-f]{64}`)

// knowing looks at what a history knows of a store.
type knowing struct {
	t *testing.T
	b *store.Memory

	mu    sync.Mutex
	named map[string]bool // blobs that a manifest names
	seen  int             // blobs that a history knows
}

// watch looks at what activities get and return.
func (k *knowing) watch(env *testsuite.TestWorkflowEnvironment) {
	env.SetOnActivityStartedListener(func(i *activity.Info, _ context.Context, args converter.EncodedValues) {
		var raw json.RawMessage
		if args.Get(&raw) == nil {
			k.look(i.ActivityType.Name, raw)
		}
	})
	env.SetOnActivityCompletedListener(func(i *activity.Info, result converter.EncodedValue, err error) {
		var raw json.RawMessage
		if err == nil && result != nil && result.HasValue() && result.Get(&raw) == nil {
			k.look(i.ActivityType.Name, raw)
		}
	})
}

// look checks that a manifest names the blobs that an input or a result names.
func (k *knowing) look(name string, raw json.RawMessage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, sum := range digest.FindAllString(string(raw), -1) {
		if _, err := k.b.Get(k.t.Context(), store.BlobPrefix+sum); err != nil {
			continue // the digest of something else
		}
		k.seen++
		if !k.named[sum] {
			k.read()
		}
		if !k.named[sum] {
			k.t.Errorf("%s: a history knows blob %s, want a manifest that names it first", name, sum)
		}
	}
}

// read reads what the manifests name.
func (k *knowing) read() {
	all, err := k.b.List(k.t.Context(), "")
	if err != nil {
		k.t.Error(err)
	}
	for _, o := range all {
		if store.IsBlob(o.Key) {
			continue
		}
		raw, err := k.b.Get(k.t.Context(), o.Key)
		if err != nil {
			continue
		}
		refs, _ := verify.Inspect(o.Key, raw)
		for _, ref := range refs {
			if store.IsBlob(ref) {
				k.named[strings.TrimPrefix(ref, store.BlobPrefix)] = true
			}
		}
	}
}

// TestNoHistoryKnowsABlobThatNoManifestNames watches a run with stage 1, and a firing that checks for drift, trains and
// asks its gate. gc would remove such a blob while the workflow waits.
func TestNoHistoryKnowsABlobThatNoManifestNames(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	k := &knowing{t: t, b: r.Bucket, named: map[string]bool{}}
	if _, err := r.Play(t, k.watch); err != nil || k.seen == 0 {
		t.Errorf("the run = %v, and its history knows %d blobs; want some", err, k.seen)
	}

	x := scheduled(t, nightly())
	k = &knowing{t: t, b: x.Bucket, named: map[string]bool{}}
	x.Suite.Edition, x.Suite.Length = "3", 6
	learns(t, x)
	o, err := fire(t, x, 3, k.watch)
	if err != nil || o.News != schedules.NewsCheck || k.seen == 0 {
		t.Errorf("the firing ended with %+v, %v, and its history knows %d blobs; want some", o, err, k.seen)
	}
	report, err := collect.Collect(t.Context(), x.Bucket, collect.Policy{Grace: 1}, true, func(int, int) {})
	if err != nil || report.Unexplained > 0 {
		t.Errorf("%d blobs would be garbage, %v; want none but those of checkpoints", report.Unexplained, err)
	}
}
