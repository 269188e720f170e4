package aliases_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/aliases"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/internal/store/runs"
)

// policy returns the digest of an agent's policy in an epoch.
func policy(epoch, agent int) string { return strings.Repeat(fmt.Sprintf("%d%d", epoch, agent), 32) }

// accept makes an entry of line mobile, with the system of an epoch whose number of agents is given.
func accept(t *testing.T, b store.Bucket, verb lines.Verb, epoch, agents int) {
	t.Helper()
	history, err := lines.Line("mobile").History(t.Context(), b, 0)
	if err != nil {
		t.Fatal(err)
	}
	e := lines.Entry{Verb: verb, System: lines.System{Run: "r", Epoch: epoch}, Who: "ann", Why: "a test"}
	for i := range agents {
		e.System.Policies = append(e.System.Policies, runs.Policy{Digest: policy(epoch, i)})
	}
	if _, err := lines.Line("mobile").Append(t.Context(), b, len(history), e); err != nil {
		t.Fatal(err)
	}
}

// wait waits until an alias stands for a policy.
func wait(t *testing.T, s *aliases.Set, alias, want string) {
	t.Helper()
	var got string
	for range 500 {
		if got, _ = s.Policy(alias); got == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s stands for %q, want %q", alias, got, want)
}

// wantStatus checks that a name is refused with a status.
func wantStatus(t *testing.T, s *aliases.Set, name string, status int) {
	t.Helper()
	var refused *serving.Refusal
	if got, err := s.Policy(name); !errors.As(err, &refused) || refused.Status != status {
		t.Errorf("Policy(%q) = %q, %v, want a refusal with status %d", name, got, err, status)
	}
}

func TestAliasesStandForWhatTheLineAccepts(t *testing.T) {
	b := &store.Memory{}
	s := aliases.New([]string{"mobile"})
	wantStatus(t, s, "mobile/0", http.StatusServiceUnavailable)

	var down atomic.Bool
	loads := make(chan string, 100)
	load := func(_ context.Context, digest string) error {
		if down.Load() {
			return fault.New(fault.Transient, "no room")
		}
		loads <- digest

		return nil
	}
	said := make(chan string, 100)
	go s.Run(t.Context(), b, load, func(format string, args ...any) { said <- fmt.Sprintf(format, args...) })
	if got := <-said; !strings.Contains(got, "line mobile cannot be followed yet") {
		t.Errorf("a line without a system is logged as %q, want that it cannot be followed yet", got)
	}

	accept(t, b, lines.Promote, 1, 2)
	wait(t, s, "mobile/1", policy(1, 1))
	if one, two := <-loads, <-loads; one != policy(1, 0) || two != policy(1, 1) {
		t.Errorf("it loads %s and %s, want both policies first", one, two)
	}
	wantStatus(t, s, "mobile/2", http.StatusNotFound)
	wantStatus(t, s, "mobile", http.StatusNotFound)

	down.Store(true) // the policies of the next system cannot be loaded: those of the one before still count
	accept(t, b, lines.Promote, 2, 3)
	for got := ""; !strings.Contains(got, "no room"); {
		got = <-said
	}
	if got, err := s.Policy("mobile/0"); got != policy(1, 0) || err != nil {
		t.Errorf("mobile/0 stands for %q, %v before the next system is loaded, want that of the one before", got, err)
	}
	down.Store(false)
	wait(t, s, "mobile/2", policy(2, 2))
	if got := s.Names(); !slices.Equal(got, []string{"mobile/0", "mobile/1", "mobile/2"}) {
		t.Errorf("Names = %v, want one for every agent", got)
	}

	accept(t, b, lines.Reject, 3, 3)
	accept(t, b, lines.Rollback, 1, 2)
	wait(t, s, "mobile/0", policy(1, 0))
	wantStatus(t, s, "mobile/2", http.StatusNotFound)
}

func TestOtherNamesAreNotTouched(t *testing.T) {
	for _, s := range []*aliases.Set{nil, aliases.New(nil), aliases.New([]string{"mobile"})} {
		for _, name := range []string{policy(1, 1), "other/0", "", "/0"} {
			if got, err := s.Policy(name); got != name || err != nil {
				t.Errorf("Policy(%q) = %q, %v, want the name itself", name, got, err)
			}
		}
		if got := s.Names(); len(got) > 0 {
			t.Errorf("Names = %v, want none", got)
		}
	}
}
