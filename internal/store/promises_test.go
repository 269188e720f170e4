package store_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// careless is a store that breaks one promise.
type careless struct {
	*store.Memory
	breaks string
}

func (c *careless) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if c.breaks == "kept its object" {
		c.Damage(key, body)

		return string(body) == "first", nil
	}

	return c.Memory.PutOnce(ctx, key, body)
}

func (c *careless) Get(ctx context.Context, key string) ([]byte, error) {
	if c.breaks == "as soon as" {
		return nil, store.ErrNotFound
	}

	return c.Memory.Get(ctx, key)
}

func (c *careless) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	if c.breaks == "a list lacks an object" {
		return nil, nil
	}

	return c.Memory.List(ctx, prefix)
}

func (c *careless) Folders(ctx context.Context, prefix string) ([]string, error) {
	if c.breaks == "a list lacks the folder" {
		return nil, nil
	}

	return c.Memory.Folders(ctx, prefix)
}

func TestAStoreThatBreaksAPromiseIsFound(t *testing.T) {
	t.Parallel()
	for _, breaks := range []string{
		"", "kept its object", "as soon as", "a list lacks an object", "a list lacks the folder",
	} {
		c := &careless{Memory: &store.Memory{}, breaks: breaks}
		got, err := store.Promises(t.Context(), c)
		if err != nil || !strings.Contains(got, breaks) || (got == "") != (breaks == "") {
			t.Errorf("Promises = %q, %v; want %q", got, err, breaks)
		}
		if left, err := c.Memory.List(t.Context(), ""); err != nil || len(left) > 0 {
			t.Errorf("Promises leaves %v, %v; want nothing", left, err)
		}
	}
}

func TestAServerThatCannotDoWhatAStoreMustIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server *faulty
		want   []string // of the sentence; none if all is well
	}{
		"all is well":               {&faulty{}, nil},
		"a clock that is a bit off": {&faulty{skew: 40 * time.Second}, nil},
		"If-None-Match is ignored":  {&faulty{deaf: true}, []string{"ignores If-None-Match"}},
		"If-None-Match is not implemented": {
			&faulty{fault: refuses(http.StatusNotImplemented, "NotImplemented", conditional)},
			[]string{"refuses a write with If-None-Match", "501", "not here", "second writer"},
		},
		"If-None-Match is a bad request": {
			&faulty{fault: refuses(http.StatusBadRequest, "InvalidRequest", conditional)},
			[]string{"refuses a write with If-None-Match", "400"},
		},
		"If-None-Match is no method": {
			&faulty{fault: refuses(http.StatusMethodNotAllowed, "MethodNotAllowed", conditional)},
			[]string{"refuses a write with If-None-Match", "405"},
		},
		"no lists": {
			&faulty{fault: refuses(http.StatusNotImplemented, "NotImplemented", listing)},
			[]string{"refuses to list", "501"},
		},
		"no copies": {
			&faulty{fault: refuses(http.StatusNotImplemented, "NotImplemented", copying)},
			[]string{"refuses to copy", "501"},
		},
		"copies of other bytes": {&faulty{lossy: true}, []string{"a copy is not what was copied"}},
		"no uploads in parts": {
			&faulty{fault: refuses(http.StatusMethodNotAllowed, "MethodNotAllowed", inParts)},
			[]string{"refuses an upload in parts", "405"},
		},
		"deletions without effect": {&faulty{keeps: true}, []string{"deleted is still there"}},
		"a clock that is ahead":    {&faulty{skew: 210 * time.Second}, []string{"clock", "differ by 3m"}},
		"a clock that is behind":   {&faulty{skew: -90 * time.Second}, []string{"clock", "differ by 1m3"}},
		"a clock that is too far off for the server": {
			&faulty{fault: refuses(http.StatusForbidden, "RequestTimeTooSkewed", putting)}, []string{"clock", "NTP"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := store.Promises(t.Context(), c.server.open(t))
			if err != nil || (got == "") != (c.want == nil) {
				t.Errorf("Promises = %q, %v; want %q", got, err, c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("Promises = %q, want it to contain %q", got, want)
				}
			}
			if left := c.server.left(); len(left) > 0 && !c.server.keeps {
				t.Errorf("Promises leaves %q, want nothing", left)
			}
		})
	}
}

func TestWhatCannotBeTriedIsNoFaultOfTheStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server   *faulty
		notTried bool
		stays    bool
	}{
		"keys that may not write": {
			&faulty{fault: refuses(http.StatusForbidden, "AccessDenied", putting)}, true, false,
		},
		"keys that may write, not delete": {
			&faulty{fault: refuses(http.StatusForbidden, "AccessDenied", deleting)}, true, true,
		},
		"a token that has expired": {
			&faulty{fault: refuses(http.StatusBadRequest, "ExpiredToken", putting)}, false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken, err := store.Promises(t.Context(), c.server.open(t))
			if broken != "" || err == nil || errors.Is(err, store.ErrNotTried) != c.notTried {
				t.Errorf("Promises = %q, %v; want an error, ErrNotTried: %v", broken, err, c.notTried)
			}
			if err != nil && strings.Contains(err.Error(), "stays in the store: delete tried/") != c.stays {
				t.Errorf("Promises = %v, want it to name what stays: %v", err, c.stays)
			}
			if left := c.server.left(); (len(left) > 0) != c.stays {
				t.Errorf("Promises leaves %q, want something: %v", left, c.stays)
			}
		})
	}
}

func TestWhatAKilledTrialLeftIsRemoved(t *testing.T) {
	t.Parallel()
	server := &faulty{skew: -2 * time.Hour}
	b := server.open(t)
	for _, key := range []string{"tried/killed/a", "runs/x/spec.json"} {
		if _, err := b.PutOnce(t.Context(), key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Promises(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if left := server.left(); len(left) != 1 || left[0] != "runs/x/spec.json" {
		t.Errorf("%q are left, want what is no trial's", left)
	}
}
