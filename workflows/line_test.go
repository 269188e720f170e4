package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/retrain"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/internal/store"
)

// tasks returns the digests of the blobs that are lists of tasks.
func tasks(t *testing.T, b store.Bucket) (out []string) {
	t.Helper()
	keys, err := store.Keys(t.Context(), b, store.BlobPrefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		raw, err := b.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		var list []domain.Task
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 && list[0].Template != "" && list[0].MaxSteps > 0 {
			out = append(out, strings.TrimPrefix(key, store.BlobPrefix))
		}
	}

	return out
}

// TestTheTasksOfAGateAreKept collects garbage after a gate was planned: before it is played, workers may be away for
// days.
func TestTheTasksOfAGateAreKept(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	r.Suite.More = []string{"h", "i"}
	learns(t, r)
	if _, err := fire(t, r, 3, nil); err != nil {
		t.Fatal(err)
	}
	planned := tasks(t, r.Bucket)
	if len(planned) != 2 {
		t.Fatalf("the gate planned %d lists of tasks, want those of new and of old tasks", len(planned))
	}
	for range 2 { // the first one puts garbage into the trash, the second one frees it
		gc := collect.Policy{Grace: time.Nanosecond}
		if _, err := collect.Collect(t.Context(), r.Bucket, gc, false, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	for _, digest := range planned {
		if _, err := store.GetBlob(t.Context(), r.Bucket, digest); err != nil {
			t.Errorf("after gc, the tasks of a gate are gone: %v; want them kept", err)
		}
	}
	clean(t, r)
}

// TestTwoSchedulesOfOneLineTrainTheirOwnRuns fires two schedules of a line at one time.
func TestTwoSchedulesOfOneLineTrainTheirOwnRuns(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	r.Suite.More = []string{"h", "i"}
	hourly := nightly()
	hourly.Name, hourly.Train.Epochs = "hourly", 2
	if _, err := schedules.Append(t.Context(), r.Bucket, schedules.Version{Schedule: hourly, Who: "ben"}); err != nil {
		t.Fatal(err)
	}
	err := r.Do(func(ctx workflow.Context, _ int) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour})
		for _, name := range []string{"Look", "Fork"} { // both look before either has decided
			for _, schedule := range []string{"nightly", "hourly"} {
				id := retrain.FiringID{Schedule: schedule, Version: 1, ID: "20261123-030000"}
				if err := workflow.ExecuteActivity(ctx, name, id).Get(ctx, nil); err != nil {
					return fmt.Errorf("%s of %s: %w", name, schedule, err)
				}
			}
		}

		return nil
	}, 0)
	if err != nil {
		t.Errorf("two firings at one time: %v; want a run for each schedule", err)
	}
	for name, epochs := range map[string]int{"nightly-20261123-030000": 1, "hourly-20261123-030000": 2} {
		s, err := runs.Run(name).Current(t.Context(), r.Bucket)
		origin := read(t, r, runs.Run(name).Origin())
		if err != nil || s.Epochs != origin.Epoch+epochs {
			t.Errorf("run %s plays up to epoch %d after %d, %v; want %d more",
				name, s.Epochs, origin.Epoch, err, epochs)
		}
	}
}

// busy is a store in which somebody writes the next entry of a line just before others do, some times.
type busy struct {
	store.Bucket
	left *int
}

func (b busy) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if strings.HasPrefix(key, "lines/mobile/") && *b.left > 0 {
		*b.left--
		n := 0
		if _, err := fmt.Sscanf(key, "lines/mobile/%04d.json", &n); err != nil {
			return false, err
		}
		_, _, _, err := lines.Line("mobile").Entry(n).Write(ctx, b.Bucket, lines.Entry{
			Number: n, Verb: lines.Reject, Who: fmt.Sprint("person ", n), Why: "not that one",
		})
		if err != nil {
			return false, err
		}
	}

	return b.Bucket.PutOnce(ctx, key, body)
}

func TestARulingIsWrittenHoweverOftenOthersAreFaster(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	r.Suite.More = []string{"h", "i"}
	learns(t, r)
	left := 5
	r.Deps.Bucket = busy{r.Bucket, &left}
	o, err := fire(t, r, 3, nil)
	wantOutcome(t, o, err, lines.Reject, schedules.NewsTasks, "person 6 has changed the line since; ")
	if strings.Count(o.Why, "has changed the line") != 1 || o.Entry != 7 {
		t.Errorf("entry %d says %q, want entry 7 that names the last change only", o.Entry, o.Why)
	}
}
