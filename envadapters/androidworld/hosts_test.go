package androidworld

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
)

// TestCompanionsThatMayNotBeReachedAreNotWaitedFor expects an error at once, because another attempt cannot help.
func TestCompanionsThatMayNotBeReachedAreNotWaitedFor(t *testing.T) {
	t.Setenv(hosts.Env, hosts.Beyond)
	p, err := newPool([]string{"ws://169.254.169.254/ws", "ws://127.0.0.1:9/ws"}, 0, usualLimits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = p.take(ctx)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "servers: ws://169.254.169.254/ws") ||
		!strings.Contains(err.Error(), hosts.Env) {
		t.Errorf("an emulator: %v (%s), want an invalid fault with field, address and %s", err, fault.KindOf(err),
			hosts.Env)
	}
}
