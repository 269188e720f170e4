package logging_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/observe/logging"
)

func TestTheTemporalSDKLogsThroughTheSameHandler(t *testing.T) {
	for _, c := range []struct {
		name    string
		options logging.Options
		info    bool // whether Info lines are written
		json    bool
	}{
		{"by default text and info", logging.Options{}, true, false},
		{"JSON", logging.Options{Format: "json"}, true, true},
		{"warnings only", logging.Options{Level: "warn"}, false, false},
		{"levels in upper case", logging.Options{Level: "ERROR", Format: "text"}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			l, err := logging.New(&out, c.options)
			if err != nil {
				t.Fatal(err)
			}
			logging.Temporal(l).Info("started", "queue", "gpu")

			if got := strings.Contains(out.String(), "gpu"); got != c.info {
				t.Errorf("an Info line was written: %v, want %v: %s", got, c.info, out.String())
			}
			if got := json.Valid(out.Bytes()); got != c.json {
				t.Errorf("the line is JSON: %v, want %v: %s", got, c.json, out.String())
			}
		})
	}
}

func TestUnknownLevelsAndFormatsAreRefused(t *testing.T) {
	for _, o := range []logging.Options{{Level: "loud"}, {Format: "xml"}} {
		if _, err := logging.New(&bytes.Buffer{}, o); fault.KindOf(err) != fault.Invalid {
			t.Errorf("New(%+v) = %v, want an invalid fault", o, err)
		}
	}
}
