package view_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// many writes the run "many" with an epoch of n short episodes.
func many(t testing.TB, b store.Bucket, n int) runs.Run {
	t.Helper()
	s := spec.Default()
	s.Name, s.Agents, s.Rounds, s.Epochs, s.Slots = "many", 2, 2, 1, n
	run := runs.Run(s.Name)
	record(t, b, run.Spec(), s)
	record(t, b, run.Topology(1), domain.Topology{Agents: 2, Edges: [][2]int{{0, 1}}})
	slots := runs.Slots{Epoch: 1}
	for i := range n {
		slots.Slots = append(slots.Slots, domain.Slot{
			Epoch: 1, Number: i + 1, Task: domain.Task{Template: fmt.Sprintf("t%d", i%7), Split: "train", MaxSteps: 3},
		})
	}
	record(t, b, run.Slots(1), slots)
	step := hostileStep()
	step.Goal = "Send it"
	for _, slot := range slots.Slots {
		play(t, b, run, slot, 1, step)
	}

	return run
}

// pdf prints a page and returns the number of its sheets.
func pdf(t *testing.T, x *tab) int {
	t.Helper()
	r, err := chromedp.Call(x.ctx, page.PrintToPDF, page.PrintToPDFParams{})
	if err != nil {
		t.Fatal(err)
	}

	return bytes.Count(r.Data, []byte("/Type /Page\n"))
}

func TestListsArePrintedWhole(t *testing.T) {
	var b store.Memory
	many(t, &b, 1010)
	x := newTab(t)
	x.open(serve(t, &b, "many"), "document.querySelector('h1')")
	x.page("#/run/many/episodes", "1,010 of 1,010 episodes")
	if n := x.eval("document.querySelectorAll('.line.place').length").(float64); n > 100 {
		t.Errorf("a screen has %v lines drawn, want those that can be seen", n)
	}
	if sheets := pdf(t, x); sheets < 12 || sheets > 50 {
		t.Errorf("1000 episodes are printed on %d sheets, want some 25", sheets)
	}
	x.media("print")
	x.wait("document.querySelectorAll('.line.place').length === 1000")
	x.wait("document.querySelector('main').innerText.includes('and 10 more')")
	x.size(720, 900)
	tops := x.eval(`[...document.querySelectorAll('.line.place')].slice(0, 50)
		.map((l) => l.getBoundingClientRect()).every((r, i, all) => i === 0 || r.top >= all[i - 1].bottom - 0.5)`)
	if tops != true {
		t.Error("lines on paper lie over each other, want them below each other")
	}
	x.media("screen")
	x.wait("document.querySelectorAll('.line.place').length < 100")
	x.quiet()
}

func TestPagesFitOnPaper(t *testing.T) {
	b := everything(t)
	x := newTab(t)
	x.open(served(t, b), "document.querySelector('h1')")
	for hash, text := range map[string]string{
		"#/run/small": "Tokens by role", "#/run/small/updates": "Loss of agent 0", "#/run/small/episodes": "20 of 20",
		"#/run/small/data": "type of the chosen action", "#/episode/small/2/4/1/2.1": "Agent 2, round 2",
	} {
		x.media("screen")
		x.page(hash, text)
		x.wait("!document.querySelector('.wait')")
		if sheets := pdf(t, x); sheets < 1 {
			t.Errorf("%s: got %d sheets, want some", hash, sheets)
		}
		x.media("print")
		x.size(720, 1000)
		wide := x.eval(`[...document.querySelectorAll('main *')].filter((e) => e.checkVisibility() &&
			!e.closest('.hidden') && e.getBoundingClientRect().right > innerWidth + 1)
			.map((e) => e.outerHTML.slice(0, 120))`).([]any)
		if len(wide) > 0 {
			t.Errorf("%s: %d parts are wider than the paper, such as %v, want none", hash, len(wide), wide[0])
		}
		if hash == "#/episode/small/2/4/1/2.1" {
			for _, want := range []string{"What the agent was asked", "Votes:", "round 1"} {
				if !strings.Contains(x.eval("document.querySelector('main').innerText").(string), want) {
					t.Errorf("%s on paper lacks %q, want it", hash, want)
				}
			}
		}
	}
}
