package workflows_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/internal/store/schedules"
	"github.com/collabui/collabui/test/kit/testrun"
)

func TestALineWithoutAnAcceptedSystemIsNotTrained(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	if _, err := schedules.Append(t.Context(), r.Bucket, schedules.Version{Schedule: nightly()}); err != nil {
		t.Fatal(err)
	}
	if _, err := fire(t, r, 3, nil); err == nil || !strings.Contains(err.Error(), "collabui line promote mobile RUN") {
		t.Errorf("the firing ended with %v, want an error that says what to do", err)
	}
	all, err := schedules.Schedule("nightly").Outcomes(t.Context(), r.Bucket)
	if err != nil || len(all) != 1 || all[0].Verb != schedules.VerbFailed {
		t.Errorf("the outcomes are %+v, %v; want one that failed", all, err)
	}
}

func TestNothingIsTrainedThatNoGateCouldCompare(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	r.Suite.Trained = []string{"h", "i"}
	c := count(r)
	_, err := fire(t, r, 3, nil)
	const want = "none of the new training templates (h, i) in test-seeds or val"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the firing ended with %v, want an error with %q", err, want)
	}
	if c.calls > 0 || c.jobs > 0 {
		t.Errorf("it made %d calls and %d jobs, want none", c.calls, c.jobs)
	}

	r.Suite.More, r.Suite.Trained = r.Suite.Trained, nil // as the error says
	learns(t, r)
	o, err := fire(t, r, 4, nil)
	wantOutcome(t, o, err, lines.Promote, schedules.NewsTasks, "points on 20 episodes of new tasks")
}
