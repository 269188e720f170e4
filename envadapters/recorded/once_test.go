package recorded

import (
	"errors"
	"testing"
)

func TestOnceTriesAgainUntilItSucceeds(t *testing.T) {
	calls := 0
	read := Once(func() (int, error) {
		if calls++; calls < 3 {
			return 0, errors.New("no file")
		}

		return calls, nil
	})
	for try := range 5 {
		got, err := read()
		if want := max(0, 3*min(1, try/2)); got != want || (err == nil) != (want > 0) {
			t.Errorf("try %d returns %d, %v, want %d", try+1, got, err, want)
		}
	}
	if calls != 3 {
		t.Errorf("the files were read %d times, want 3", calls)
	}
}
