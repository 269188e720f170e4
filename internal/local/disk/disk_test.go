package disk

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
)

// TestRoom checks the space for a folder that does not exist yet.
func TestRoom(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a", "b")
	free, err := Free(folder)
	if err != nil || free == 0 {
		t.Fatalf("Free(%s) = %d, %v, want some space", folder, free, err)
	}
	if err := Room(folder, 1); err != nil {
		t.Errorf("Room for a byte: %v, want nil", err)
	}
	err = Room(folder, math.MaxUint64)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("Room for more than any disk has: %v, want an invalid fault that says what to do", err)
	}
}
