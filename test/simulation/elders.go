package simulation

import (
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/records/lines"
)

// elder and spare are runs that ended long ago and have the policies of the run. A line accepts a system of elder.
const (
	elder = "elder"
	spare = "spare"
)

// ancient holds the objects of these runs, by whether policies lag.
var ancient [2]struct {
	once    sync.Once
	objects []entry
}

// elders returns the objects of elder and spare.
func elders(t *testing.T, seed uint64) []entry {
	t.Helper()
	x := &ancient[seed%2]
	x.once.Do(func() {
		for _, name := range []string{elder, spare} {
			played := short(seed, name).Play(t, seed%2, nil, false)
			if len(played.Problems) > 0 {
				t.Fatalf("run %s: %v, want no problems", name, played.Problems)
			}
			x.objects = append(x.objects, played.objects...)
		}
		d := &disk{}
		for _, o := range x.objects {
			d.putOnce(o.key, o.body)
		}
		memory := d.copied(t.Context())
		system, err := lines.Find(t.Context(), memory, elder, 2)
		if err == nil {
			e := lines.Entry{Verb: lines.Promote, System: system, Who: who, At: time.Unix(0, 0).UTC()}
			_, err = lines.Line("main").Append(t.Context(), memory, 0, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		accepted := lines.Line("main").Entry(1).Key
		raw, err := memory.Get(t.Context(), accepted)
		if err != nil {
			t.Fatal(err)
		}
		x.objects = append(x.objects, entry{key: accepted, version: version{body: raw}})
	})

	return x.objects
}
