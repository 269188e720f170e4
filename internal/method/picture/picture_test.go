package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
)

var (
	red   = color.RGBA{R: 0xff, A: 0xff}
	blue  = color.RGBA{B: 0xff, A: 0xff}
	white = color.RGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}
)

// screen is a screen of 200 × 100 CSS pixels with a red button at the left, a blue one at the right, and a white card
// around the blue one.
var screen = domain.Observation{Width: 200, Height: 100, Elements: []domain.Element{
	{Index: 0, Role: "button", Bounds: domain.Rect{0, 0, 80, 100}, Visible: true},
	{Index: 1, Role: "card", Bounds: domain.Rect{100, 0, 100, 100}, Visible: true},
	{Index: 2, Role: "button", Bounds: domain.Rect{120, 20, 60, 60}, Visible: true},
}}

// shot is a screenshot of the screen, with two pixels per CSS pixel.
func shot(t *testing.T) []byte {
	t.Helper()
	canvas := image.NewRGBA(image.Rect(0, 0, 400, 200))
	fill(canvas, canvas.Bounds(), color.RGBA{R: 0xff, G: 0xff, A: 0xff})
	fill(canvas, image.Rect(0, 0, 160, 200), red)
	fill(canvas, image.Rect(200, 0, 400, 200), white)
	fill(canvas, image.Rect(240, 40, 360, 160), blue)
	var out bytes.Buffer
	if err := png.Encode(&out, canvas); err != nil {
		t.Fatal(err)
	}

	return out.Bytes()
}

// drawn decodes a picture.
func drawn(t *testing.T, picture chat.Image) image.Image {
	t.Helper()
	if want := chat.NewImage(picture.PNG).Digest; picture.Digest != want {
		t.Errorf("digest = %s, want %s, the file's", picture.Digest, want)
	}
	decoded, err := envadapters.DecodePNG(picture.PNG)
	if err != nil {
		t.Fatal(err)
	}

	return decoded
}

func TestNoProgramHasToScaleAPictureOnceMore(t *testing.T) {
	for _, c := range []struct{ width, height, pixels int }{
		{400, 200, 1 << 20}, {1080, 2400, 262144}, {412, 915, 200704}, {5000, 10, 3136}, {1, 1, 3136}, {70, 3000, 3136},
		{56, 56, 3136}, {830, 830, 65536},
	} {
		got := size(c.width, c.height, c.pixels)
		if got.X%patch != 0 || got.Y%patch != 0 || got.X < 2*patch || got.Y < 2*patch || got.X*got.Y > c.pixels {
			t.Errorf("size(%d, %d, %d) = %v, want multiples of %d, from %d, with at most %d pixels",
				c.width, c.height, c.pixels, got, patch, 2*patch, c.pixels)
		}
	}
	if got := size(412, 915, 1<<20); got != image.Pt(420, 924) {
		t.Errorf("size(412, 915) = %v, want 420 × 924, the nearest", got)
	}
}

func TestAnAgentSeesOnlyItsPartOfTheScreen(t *testing.T) {
	dealt := [][]int{{0}, {1}, {2}, {}}
	got, err := Draw(shot(t), screen, dealt, agents.Presentation{Kind: agents.AsBoth, Pixels: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Parts) != len(dealt) || got.Parts[3].Digest != "" {
		t.Fatalf("got %d parts, the last with %q; want %d, the last without a picture", len(got.Parts),
			got.Parts[len(got.Parts)-1].Digest, len(dealt))
	}
	for part, want := range []struct {
		size   image.Point
		middle color.RGBA // of the picture
	}{{size(160, 200, 1<<20), red}, {size(200, 200, 1<<20), hidden}, {size(120, 120, 1<<20), blue}} {
		picture := drawn(t, got.Parts[part])
		bounds := picture.Bounds()
		if bounds.Size() != want.size {
			t.Errorf("part %d has the size %v, want %v, the element's", part, bounds.Size(), want.size)
		}
		if at := picture.At(bounds.Dx()/2, bounds.Dy()/2); at != color.Color(want.middle) {
			t.Errorf("the middle of part %d is %v, want %v", part, at, want.middle)
		}
	}
	if at := drawn(t, got.Parts[1]).At(5, 5); at != color.Color(white) {
		t.Errorf("the card's corner is %v, want %v: only the element on it is hidden", at, white)
	}
	if at := drawn(t, got.Whole).At(5, 5); at != color.Color(red) {
		t.Errorf("the corner of the whole picture is %v, want %v", at, red)
	}
}

func TestMarksAreOnTheElements(t *testing.T) {
	marked := agents.Presentation{Kind: agents.AsImage, Marks: true, Pixels: 1 << 20}
	got, err := Draw(shot(t), screen, [][]int{{0, 2}}, marked)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		picture image.Image
		corner  image.Point
	}{
		"whole": {drawn(t, got.Whole), image.Pt(120*392/200, 20*196/100)},
		"part":  {drawn(t, got.Parts[0]), image.Pt(240*364/360, 40*196/200)},
	} {
		if at := c.picture.At(c.corner.X, c.corner.Y); at != color.Color(green) {
			t.Errorf("%s: the corner of element 2 is %v, want %v", name, at, green)
		}
	}
}

func TestAFileThatIsNoPictureVoidsTheEpisode(t *testing.T) {
	_, err := Draw([]byte("no picture"), screen, nil, agents.Presentation{Pixels: 1 << 20})
	if _, marked := Mark([]byte("no picture"), screen); fault.KindOf(err) != fault.Void ||
		fault.KindOf(marked) != fault.Void {
		t.Errorf("Draw = %v, Mark = %v; want void faults", err, marked)
	}
}
