package status

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/spec"
)

// problemsEvery is the interval between checks for problems around a run.
const problemsEvery = 5 * time.Second

// lasting is how long a problem must last before it is reported: a service that is starting is not dead.
const lasting = 10 * time.Second

// Problems are the problems around a run.
type Problems struct {
	next     time.Time
	since    map[string]time.Time // when each present problem was first seen
	reported map[string]bool
}

// Report reports problems that have lasted for a while, and problems that have ended.
func (x *Problems) Report(
	ctx context.Context, bar *terminal.Bar, temporal client.Client, endpoints config.Endpoints, specification spec.Spec,
) {
	if time.Now().Before(x.next) {
		return
	}
	now := map[string]bool{}
	for _, server := range readSurroundings(ctx, endpoints, specification).broken() {
		now[fmt.Sprintf("server %s is %s: %s", server.Address, server.State, server.Detail)] = true
	}
	waits := ReadPending(ctx, temporal, specification.Name)
	for _, retry := range waits.Again {
		now[fmt.Sprintf("%s is tried again: %s", retry.Activity, retry.Why)] = true
	}
	for _, stuck := range waits.Stuck {
		now["workflow "+stuck.Workflow+" stands still: see the log of a control worker"] = true
	}
	x.compare(bar, now)
	x.next = time.Now().Add(problemsEvery)
}

// compare reports the present problems that have lasted, and those reported before that have ended.
func (x *Problems) compare(bar *terminal.Bar, now map[string]bool) {
	since := map[string]time.Time{}
	reported := map[string]bool{}
	for _, what := range slices.Sorted(maps.Keys(now)) {
		seen, before := x.since[what]
		if !before {
			seen = time.Now()
		}
		since[what] = seen
		reported[what] = x.reported[what] || time.Since(seen) >= lasting
		if reported[what] && !x.reported[what] {
			bar.Line("  %s", what)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(x.reported)) {
		if x.reported[what] && !now[what] {
			bar.Line("  no longer: %s", what)
		}
	}
	x.since = since
	x.reported = reported
}
