package view_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// pictured writes the run "crafted" with an episode of one step that has a screenshot before and after it, in slot 5
// and as an evaluated one, and returns the picture's digest. The first agent saw the picture.
func pictured(t *testing.T, b store.Bucket) string {
	t.Helper()
	run := crafted(t, b)
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 36, 64))); err != nil {
		t.Fatal(err)
	}
	ref, err := store.PutBlob(t.Context(), b, buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	slots, _, err := run.Slots(1).Must(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	slot := slots.Slots[4] // it has not begun
	record(t, b, run.Start(1, slot.Number, 1), runs.Start{Slot: slot, Attempt: 1})
	step := hostileStep()
	step.Decision.Cells[0].Image = ref.SHA256
	first := record(t, b, run.Step(1, slot.Number, 1, 1), runs.Step{Step: step, Image: &ref})
	end := &runs.Screen{Observation: step.Observation, Image: &ref}
	record(t, b, run.Attempt(1, slot.Number, 1),
		runs.Episode{Slot: slot, Attempt: 1, Goal: step.Goal, Steps: []store.Ref{first}, End: end})

	const id = "final/trained-2/val"
	evaluated := runs.NewEvalStep(step.Goal, step.Observation, step.Decision)
	evaluated.Image = &ref
	record(t, b, run.EvalEpisode(id, 1), runs.EvalEpisode{
		Goal: step.Goal, Task: slot.Task, Steps: []runs.EvalStep{evaluated}, End: end,
	})
	record(t, b, run.Result(id), runs.NewResult("trained-2", "val", 0, 1, 0, "plain"))

	return ref.SHA256
}

func TestScreenshotsLieUnderTheBoxes(t *testing.T) {
	var b store.Memory
	digest := pictured(t, &b)
	x := newTab(t)
	for form, url := range forms(t, &b, "crafted") {
		x.open(url, "document.querySelector('h1')")
		want := "image/" + digest + ".png"
		want += "," + want // the screen and its thumbnail
		for _, page := range []string{"#/episode/crafted/1/5", "#/evaluation/crafted/final%2Ftrained-2%2Fval/1"} {
			x.page(page, "Decision in step 1")
			for _, when := range []string{"before", "after"} {
				x.wait("document.querySelector('.look svg.screen').ariaLabel.startsWith('" + when + ":')")
				got := x.eval(
					"[...document.querySelectorAll('svg.screen image')].map((i) => i.getAttribute('href')).join()")
				if got != want {
					t.Errorf("%s %s, %s: the pictures are %q, want %q", form, page, when, got, want)
				}
				x.key("b")
			}
			x.page(page+"/1/0.0", "What the agent saw")
			got := x.eval("document.querySelector('img.seen').getAttribute('src')")
			if one := "image/" + digest + ".png"; got != one {
				t.Errorf("%s %s: the first agent saw %q, want %q", form, page, got, one)
			}
		}
		x.eval(`new Promise((done, fail) => { const i = new Image(); i.onload = done; i.onerror = fail;
			i.src = document.querySelector('svg.screen image').getAttribute('href'); }).then(() => 1)`)
		x.quiet()
	}
}

func TestTheViewerServesPicturesOnly(t *testing.T) {
	var b store.Memory
	digest := pictured(t, &b)
	secret, err := store.PutBlob(t.Context(), &b, []byte("a policy"))
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, &b, "crafted")
	for name, want := range map[string]int{
		digest + ".png": 200, secret.SHA256 + ".png": 404, "..%2f..%2fruns%2fcrafted%2fspec.json": 404,
		strings.Repeat("0", 64) + ".png": 404,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"image/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Body.Close()
		if w.StatusCode != want {
			t.Errorf("image/%s: status %d, want %d", name, w.StatusCode, want)
		}
		if kind := w.Header.Get("Content-Type"); want == 200 && kind != "image/png" {
			t.Errorf("image/%s: a %s, want image/png", name, kind)
		}
	}
}
