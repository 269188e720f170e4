package operate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/care/verify"
)

// TestFsckSaysWhatBecomesOfUnreferencedObjects: gc removes blobs, and a stopped run still needs the records of its open
// epoch.
func TestFsckSaysWhatBecomesOfUnreferencedObjects(t *testing.T) {
	const blobs, records = "collabui gc removes them", "its run uses them when it continues"
	for _, c := range []struct {
		unreferenced  []string
		blobs, record bool
	}{
		{nil, false, false},
		{[]string{"blobs/ab"}, true, false},
		{[]string{"runs/a/epochs/0001/slots.json"}, false, true},
		{[]string{"blobs/ab", "runs/a/epochs/0001/slots.json"}, true, true},
	} {
		var out bytes.Buffer
		printReport(&out, verify.Report{Unreferenced: c.unreferenced}, 1)
		if got := strings.Contains(out.String(), blobs); got != c.blobs {
			t.Errorf("%v: fsck printed %q, want %q in it: %v", c.unreferenced, out.String(), blobs, c.blobs)
		}
		if got := strings.Contains(out.String(), records); got != c.record {
			t.Errorf("%v: fsck printed %q, want %q in it: %v", c.unreferenced, out.String(), records, c.record)
		}
	}
}

func TestFsckPrintsSomeOfManyUnreferencedObjects(t *testing.T) {
	var report verify.Report
	for i := range 12 {
		report.Unreferenced = append(report.Unreferenced, fmt.Sprintf("runs/a/%02d", i))
	}
	var out bytes.Buffer
	printReport(&out, report, 1)
	text := out.String()
	if strings.Count(text, "unreferenced runs/a/") != 10 || !strings.Contains(text, "… and 2 more; --json lists all") {
		t.Errorf("fsck printed %q, want 10 of 12 keys and the number of the others", text)
	}
}
