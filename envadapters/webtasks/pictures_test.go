package webtasks

import (
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/agents"
)

// TestOnlyAPictureShowsWhatPicturesAskFor groups the screens of a template by what their text shows. In pictures, the
// same text must have different right actions, and different screenshots; in words, the text decides.
func TestOnlyAPictureShowsWhatPicturesAskFor(t *testing.T) {
	const seeds = 40

	s, e := open(t, GroupPictures, GroupWords)
	templates, err := s.Templates(domain.SplitTrain)
	if err != nil {
		t.Fatal(err)
	}
	if len(templates) != 6 {
		t.Fatalf("pictures and words have %d templates, want 6", len(templates))
	}
	for _, template := range templates {
		named := 0 // goals that name what the text shows
		places := map[int]bool{}
		for seed := range uint64(seeds) {
			tr, err := e.Reset(t.Context(), domain.Task{
				Template: template.Name, Split: domain.SplitTrain, Seed: seed, MaxSteps: template.MaxSteps,
			})
			if err != nil {
				t.Fatal(err)
			}
			right := e.Right()
			if len(right) != 1 || right[0].Index == nil {
				t.Fatalf("%s %d: %v is right, want one element", template.Name, seed, right)
			}
			places[*right[0].Index] = true
			element := tr.Observation.Elements[*right[0].Index]
			text := strings.Join(agents.Lines(tr.Observation), "\n")
			for _, word := range strings.Fields(text) {
				if _, colour := shades[word]; colour {
					t.Errorf("%s %d: the text shows a colour, want the picture to:\n%s", template.Name, seed, text)
				}
			}
			if shownInText(element, tr.Goal) {
				named++
			}
		}
		want := 0
		if template.Group == GroupWords {
			want = seeds
		}
		if named != want {
			t.Errorf("%s: %d of %d goals name what the text shows, want %d", template.Name, named, seeds, want)
		}
		if len(places) != 4 {
			t.Errorf("%s: the right elements have the indices %v, want all four tiles", template.Name, places)
		}
	}
}

// shownInText reports whether a goal names the text of an element, or a state of it.
func shownInText(element domain.Element, goal string) bool {
	named := func(text string) bool { return text != "" && strings.Contains(goal, text) }

	return named(element.Text) || slices.ContainsFunc(element.State, named)
}

// shades are the colours of the tiles.
var shades = map[string]color.RGBA{
	"red": {0xc6, 0x21, 0x21, 0xff}, "blue": {0x1b, 0x50, 0xb3, 0xff}, "green": {0x1d, 0x7a, 0x46, 0xff},
	"yellow": {0xff, 0xd8, 0x3d, 0xff}, "black": {0, 0, 0, 0xff}, "purple": {0x7a, 0x2a, 0x9e, 0xff},
}

func TestThePictureShowsWhatTheGoalAsksFor(t *testing.T) {
	_, e := open(t, GroupPictures)
	for _, template := range []string{"tap-colour", "tap-place", "tap-badge"} {
		for seed := range uint64(3) {
			tr, err := e.Reset(t.Context(), domain.Task{
				Template: template, Split: domain.SplitTrain, Seed: seed, MaxSteps: 2,
			})
			if err != nil {
				t.Fatal(err)
			}
			shot, err := envadapters.Take(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			picture, err := envadapters.DecodePNG(shot)
			if err != nil {
				t.Fatal(err)
			}
			for _, element := range tr.Observation.Elements {
				if element.Role != "button" {
					continue
				}
				fits := showsGoal(picture, tr.Observation, element, template, tr.Goal)
				if right := element.Index == *e.Right()[0].Index; fits != right {
					t.Errorf("%s %d, %q: the picture shows it at element %d: %v, want %v", template, seed, tr.Goal,
						element.Index, fits, right)
				}
			}
		}
	}
}

// showsGoal reports whether a picture shows an element as a goal describes it.
func showsGoal(
	picture image.Image, screen domain.Observation, element domain.Element, template, goal string,
) bool {
	scale := picture.Bounds().Dx() / screen.Width
	b := element.Bounds
	at := func(x, y int) color.Color { return color.RGBAModel.Convert(picture.At(scale*x, scale*y)) }
	switch template {
	case "tap-badge":
		return at(b[0]+b[2]-34, b[1]+34) == color.Color(shades["red"])
	case "tap-place":
		left := b[0] < screen.Width/3
		top := b[1] < 200

		return strings.Contains(goal, "left") == left && strings.Contains(goal, "top") == top
	}
	for name, shade := range shades {
		if strings.Contains(goal, name) {
			return at(b[0]+20, b[1]+20) == color.Color(shade)
		}
	}

	return false
}
