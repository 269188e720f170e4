//go:build integration

package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/webtasks"
)

// tapped are the tasks of the comparison: taps only, because WebDriver's actions for them are the official client's.
var tapped = []string{
	"tap-button", "tap-link", "check-boxes", "choose-tab", "choose-radio", "stepper", "alarms-enable",
	"contacts-call",
}

// episodesPerSide is how many episodes each side plays per measurement.
const episodesPerSide = 32

func task(i int) domain.Task {
	return domain.Task{
		Template: tapped[i%len(tapped)],
		Split:    domain.SplitTrain,
		Seed:     uint64(i) + 1,
		MaxSteps: 20,
	}
}

// ours plays episodes by the environment and returns steps per second, resets included.
func ours(b *testing.B, env envadapters.Environment) float64 {
	steps := 0
	t := time.Now()
	for i := range episodesPerSide {
		tr, err := env.Reset(b.Context(), task(i))
		for err == nil && !tr.Terminated && !tr.Truncated {
			right := env.(envadapters.Judge).Right()
			if right[0].Type == domain.ActionStatus { // the other side does not say so either
				break
			}
			tr, err = env.Step(b.Context(), right[0])
			steps++
		}
		if err != nil {
			b.Fatal(err)
		}
	}

	return float64(steps) / time.Since(t).Seconds()
}

// seen is what a page says of itself.
type seen struct {
	domain.Observation
	Over  bool            `json:"over"`
	Right []domain.Action `json:"right"`
}

// official plays the same episodes in the call sequence of the official MiniWoB++ client and returns steps per second:
// a reset of nine round trips (eight without screenshot), a step of six (five): metadata, action, metadata, utterance,
// DOM, screenshot.
func (d *driver) official(shots bool) float64 {
	steps := 0
	t := time.Now()
	for i := range episodesPerSide {
		steps += d.episode(task(i), shots)
	}

	return float64(steps) / time.Since(t).Seconds()
}

// episode plays one episode and returns its steps.
func (d *driver) episode(x domain.Task, shots bool) int {
	d.js("0")                                                                       // end the old episode
	d.js("0")                                                                       // seed
	d.js("0")                                                                       // data mode
	d.js(fmt.Sprintf("kit.reset(%q, %q, '%d').width", x.Template, x.Split, x.Seed)) // start
	d.js("document.readyState")                                                     // ready
	s := d.look(shots)                                                              // utterance, DOM, screenshot
	d.js("kit.width()")                                                             // metadata

	steps := 0
	for !s.Over && len(s.Right) > 0 && s.Right[0].Type == domain.ActionClick {
		d.js("kit.width()") // metadata
		e, _ := s.Element(*s.Right[0].Index)
		d.click(e.Bounds[0]+e.Bounds[2]/2, e.Bounds[1]+e.Bounds[3]/2)
		d.js("kit.width()") // metadata
		s = d.look(shots)
		steps++
	}
	if !s.Over && (len(s.Right) == 0 || s.Right[0].Type != domain.ActionStatus) {
		d.b.Fatalf("after %d steps of %+v the page shows %+v, want it solved", steps, x, s)
	}

	return steps
}

// look reads utterance and DOM, and takes a screenshot if asked to.
func (d *driver) look(shots bool) seen {
	d.js("document.title") // utterance
	var s seen
	_ = json.Unmarshal(d.js("kit.observe()"), &s) // DOM
	if shots {
		d.call(http.MethodGet, "/screenshot", nil)
	}

	return s
}

// BenchmarkBrowser compares environment steps per second of one browser, virtual clock included, with WebDriver on the
// same pages and observations.
func BenchmarkBrowser(b *testing.B) {
	s, err := webtasks.New(envadapters.Options{}, 1, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	env, err := s.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer env.Close(b.Context())
	d := startDriver(b, s.URL())
	environment := func() float64 { return ours(b, env) }
	environment() // warm
	d.official(false)

	us, them, ratio := sideBySide(environment, func() float64 { return d.official(true) })
	note("steps/s: environment (screenshot on request, none asked) and WebDriver with its screenshot",
		"%.1f and %.1f", us, them)
	line(b, "environment / WebDriver in the official call sequence with its screenshot (default)",
		ratio, ">= 8", ratio >= 8)

	us, them, ratio = sideBySide(environment, func() float64 { return d.official(false) })
	note("steps/s without screenshots on both sides", "%.1f and %.1f", us, them)
	line(b, "environment / WebDriver without screenshots on both sides", ratio, ">= 4", ratio >= 4)
}
