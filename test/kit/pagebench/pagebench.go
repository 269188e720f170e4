// Package pagebench measures how long the suites of web pages take to observe a page. Only tests import it.
package pagebench

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Page is what a suite of web pages says about itself for the measurement.
type Page struct {
	// Eval evaluates an expression in the page, as a tab's Eval does.
	Eval func(ctx context.Context, expr string, out any) error

	// Parent is the id of the element that takes the elements of the benchmark.
	Parent string

	// Each is a script that sets up one element: x, the i-th. Odd ones are inputs, even ones buttons.
	Each string

	// Observe is the script that observes the page.
	Observe string

	// Read observes the page as a step does and returns the number of elements.
	Read func(context.Context) (int, error)
}

// Sizes are the numbers of elements to measure with.
var Sizes = []int{10, 100, 500, 2000}

// Observation reads a page of n buttons and fields. It reports the time in the page for each element, which should be
// linear, and the time of an observation with its way to this process. Both are the least of all rounds, because other
// work on the machine only adds to them.
func Observation(b *testing.B, n int, p Page) {
	b.Helper()

	reads := 10000 / n // They run in the page, in one call.
	fill := fmt.Sprintf(`(() => {
		const a = document.getElementById('%s');
		a.textContent = '';
		for (let i = 0; i < %d; i++) {
			const x = a.appendChild(document.createElement(i %% 2 ? 'input' : 'button'));
			%s
		}
	})()`, p.Parent, n, p.Each)
	again := fmt.Sprintf("(() => { for (let i = 0; i < %d; i++) %s })()", reads, p.Observe)

	timed := func(f func() error) time.Duration {
		begin := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}

		return time.Since(begin)
	}
	eval := func(js string) func() error {
		return func() error { return p.Eval(b.Context(), js, nil) }
	}

	for _, js := range []string{fill, again, again} { // The second time the script is compiled.
		timed(eval(js))
	}

	elements, page, all := 0, time.Hour, time.Hour
	for b.Loop() {
		page = min(page, timed(eval(again)))
		all = min(all, timed(func() (err error) {
			elements, err = p.Read(b.Context())
			return err
		}))
	}

	if elements != n {
		b.Fatalf("the page has %d elements, want %d", elements, n)
	}

	b.ReportMetric(float64(page.Nanoseconds())/1e3/float64(n*reads), "µs/element")
	b.ReportMetric(float64(all.Nanoseconds())/1e6, "ms/observation")
}
