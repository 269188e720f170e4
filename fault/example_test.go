package fault_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/collabui/collabui/fault"
)

var errReset = errors.New("connection reset by peer")

// An adapter gives its errors the kind that says what helps. The text stays that of the error.
func Example() {
	// New checks its options.
	options := fault.New(fault.Invalid, "panel: data: expected a folder, not %q", "x.json")

	// Step lost its device in the middle of an episode.
	step := fault.New(fault.Void, "step 3: %w", errReset)

	for _, err := range []error{options, step, errReset} {
		fmt.Printf("%s: %v\n", fault.KindOf(err), err)
	}
	// Output:
	// invalid: panel: data: expected a folder, not "x.json"
	// void: step 3: connection reset by peer
	// transient: connection reset by peer
}

func ExampleAfter() {
	err := fault.After(fault.Throttled, 30*time.Second, "60 requests per minute are used up")
	err = fmt.Errorf("ask the model: %w", err) // Wrapping keeps the kind and the time.

	fmt.Println(fault.KindOf(err), fault.RetryAfter(err))
	// Output: throttled 30s
}
