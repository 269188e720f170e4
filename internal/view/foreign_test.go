package view_test

import (
	"net/http/httptest"
	"testing"

	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/view"
)

func TestTrajectoriesOfOtherProgramsHavePages(t *testing.T) {
	const image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9" +
		"awAAAABJRU5ErkJggg=="
	all := []interop.Trajectory{
		{
			File: "a.json" + hostile[0], Format: "ATIF", Task: "first" + hostile[1], Scores: []string{"reward 1"},
			Turns: []interop.Message{
				{Role: "user", Text: "do it" + hostile[0]},
				{
					Role: "agent", Reasoning: "hm" + hostile[2], Text: "needle", Images: []string{image},
					Calls:   []interop.ToolCall{{Name: "shell", Arguments: `{"x": "` + hostile[1] + `"}`}},
					Results: hostile,
					Inner: []interop.Inner{
						{Name: "helper", Turns: []interop.Message{{Role: "agent", Text: "inner"}}},
					},
				},
			},
		},
		{File: "b.eval", Format: "Inspect", Task: "second", Error: "it broke"},
	}
	srv := httptest.NewServer(view.Foreign("logs"+hostile[0], all))
	t.Cleanup(srv.Close)
	x := newTab(t)
	x.open(srv.URL+"/", "document.querySelector('.line.place')")
	x.page("#/", "2 of 2 trajectories")
	x.choose("search", "NEEDLE")
	x.wait("document.body.innerText.includes('1 of 2 trajectories')")
	x.eval("document.querySelector('.line.place a').click()")
	x.wait("location.hash === '#/trajectory/1' && document.body.innerText.includes('needle')")
	x.eval("document.querySelector('details').open = true")
	for _, want := range []string{"first" + hostile[1], "do it" + hostile[0], "shell", "inner", hostile[3]} {
		x.page("#/trajectory/1", want)
	}
	x.page("#/trajectory/2", "it broke")
	x.page("#/trajectory/3", "There is no such trajectory")
	x.page("#/trajectory/1", "needle")
	if n := x.eval("document.querySelectorAll('img:not(.turn), iframe, main b, main script').length"); n != 0.0 {
		t.Errorf("%v elements came from texts, want none", n)
	}
	if got := x.eval("window.pwned === undefined"); got != true {
		t.Error("got window.pwned, want no text executed")
	}
	for _, width := range []int64{380, 1500} {
		x.size(width, 900)
		if got := x.eval("document.documentElement.scrollWidth - innerWidth").(float64); got > 0 {
			t.Errorf("in %d pixels: got %v pixels more than the window has, want none", width, got)
		}
	}
	x.quiet()
}
