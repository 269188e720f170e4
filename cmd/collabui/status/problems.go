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

// Problems are the problems around a run that have been reported.
type Problems struct {
	next  time.Time
	known map[string]bool // the reported texts
}

// Report reports problems that are new since the last check, and problems that have ended.
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
	for _, what := range slices.Sorted(maps.Keys(now)) {
		if !x.known[what] {
			bar.Line("  %s", what)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(x.known)) {
		if !now[what] {
			bar.Line("  no longer: %s", what)
		}
	}
	x.known = now
	x.next = time.Now().Add(problemsEvery)
}
