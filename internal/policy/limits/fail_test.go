package limits

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/collabui/collabui/internal/config"
)

// TestALimiterThatFailsIsHeard makes Redis refuse the script, as a cluster refuses keys of several slots.
func TestALimiterThatFailsIsHeard(t *testing.T) {
	mini := miniredis.RunT(t)
	var refuses atomic.Bool
	mini.Server().SetPreHook(func(c *server.Peer, command string, _ ...string) bool {
		if refuses.Load() && strings.HasPrefix(strings.ToUpper(command), "EVAL") {
			c.WriteError("CROSSSLOT Keys in request don't hash to the same slot")

			return true
		}

		return false
	})
	client, err := config.Endpoints{Redis: "redis://" + mini.Addr()}.OpenRedis()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := Check(t.Context(), client); err != nil {
		t.Errorf("Check = %v, want nil", err)
	}
	if left := mini.Keys(); len(left) > 0 {
		t.Errorf("Check leaves %q, want nothing", left)
	}

	var heard []string
	clock := time.Now()
	l := Over(client, "w")
	l.now = func() time.Time { return clock }
	l.Failed = func(err error) {
		if err == nil {
			heard = append(heard, "again")
		} else {
			heard = append(heard, strings.Fields(err.Error())[0])
		}
	}
	ask := func() {
		t.Helper()
		if err := l.Wait(t.Context(), Limit{Name: "a", Requests: 1000000}, 0); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	refuses.Store(true)
	if err := Check(t.Context(), client); err == nil || !strings.Contains(err.Error(), "CROSSSLOT") {
		t.Errorf("Check = %v, want an error with CROSSSLOT", err)
	}
	for range 3 {
		ask()
	}
	clock = clock.Add(retryPause)
	ask()
	refuses.Store(false)
	clock = clock.Add(retryPause)
	for range 3 {
		ask()
	}
	if got, want := strings.Join(heard, " "), "CROSSSLOT CROSSSLOT again"; got != want {
		t.Errorf("Failed heard %q, want %q", got, want)
	}
}

// TestAllKeysOfTheScriptShareATag checks that all keys have the same tag in braces, which decides their slot, because a
// script may only use keys of one slot of a cluster.
func TestAllKeysOfTheScriptShareATag(t *testing.T) {
	for _, limit := range []string{"http://h/v1 m:", "{a}:", "}{:", ""} {
		for _, key := range keys(limit, limit) {
			_, tag, _ := strings.Cut(key, "{")
			if tag, _, _ = strings.Cut(tag, "}"); tag != "limit" {
				t.Errorf("the key %s has the tag %q, want limit", key, tag)
			}
			if !strings.HasPrefix(key, "collabui:") {
				t.Errorf("the key is %s, want the prefix of all keys, to which rules of Redis apply", key)
			}
		}
	}
}
