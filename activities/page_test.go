package activities

import "testing"

func TestARolloutSaysWhereItsEpisodeIsSeen(t *testing.T) {
	for view, want := range map[string]string{"": "", "http://v:1/": "http://v:1/#/episode/x/2/17"} {
		r := Rollouts{View: view}
		if got := r.page(SlotID{Run: "x", Epoch: 2, Slot: 17}); got != want {
			t.Errorf("with the viewer at %q the page is %q, want %q", view, got, want)
		}
	}
}
