package picture

import (
	"image"
	"image/color"
	"image/draw"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
)

// Mark returns a screenshot of full size with a box around every shown element and the element's name in the box's top
// left corner. A screenshot that cannot be read or is too large is a void fault.
func Mark(shot []byte, screen domain.Observation) (chat.Image, error) {
	src, err := envadapters.DecodePNG(shot)
	if err != nil {
		return chat.Image{}, err
	}
	to := image.NewRGBA(src.Bounds())
	draw.Draw(to, to.Bounds(), src, src.Bounds().Min, draw.Src)
	markAll(to, agents.View{Observation: screen}.Shown(), func(element domain.Element) image.Rectangle {
		return scaledBounds(element.Bounds, screen, to.Bounds())
	})

	return encode(to)
}

// markAll draws a box around every element, with its name: its ID or, without one, its index.
func markAll(to draw.Image, elements []domain.Element, place func(domain.Element) image.Rectangle) {
	for _, element := range elements {
		name := element.ID
		if name == "" {
			name = strconv.Itoa(element.Index)
		}
		box(to, place(element), name)
	}
}

// scaledBounds returns the bounds of an element in the pixels of a screenshot.
func scaledBounds(rect domain.Rect, screen domain.Observation, shot image.Rectangle) image.Rectangle {
	sx := 1.0
	sy := 1.0
	if screen.Width > 0 && screen.Height > 0 {
		sx = float64(shot.Dx()) / float64(screen.Width)
		sy = float64(shot.Dy()) / float64(screen.Height)
	}
	at := func(x, y int) image.Point {
		return shot.Min.Add(image.Pt(int(float64(x)*sx), int(float64(y)*sy)))
	}

	return image.Rectangle{Min: at(rect[0], rect[1]), Max: at(rect[0]+rect[2], rect[1]+rect[3])}.Intersect(shot)
}

var green = color.RGBA{G: 0xa0, A: 0xff}

// fill paints a rectangle in one colour.
func fill(to draw.Image, r image.Rectangle, c color.Color) {
	draw.Draw(to, r, image.NewUniform(c), image.Point{}, draw.Src)
}

// box draws a frame with a name in its corner.
func box(to draw.Image, r image.Rectangle, name string) {
	const lineWidth = 2
	fill(to, image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+lineWidth), green)
	fill(to, image.Rect(r.Min.X, r.Max.Y-lineWidth, r.Max.X, r.Max.Y), green)
	fill(to, image.Rect(r.Min.X, r.Min.Y, r.Min.X+lineWidth, r.Max.Y), green)
	fill(to, image.Rect(r.Max.X-lineWidth, r.Min.Y, r.Max.X, r.Max.Y), green)

	face := basicfont.Face7x13
	label := image.Rect(r.Min.X, r.Min.Y, r.Min.X+face.Advance*len(name)+2*lineWidth, r.Min.Y+face.Height+lineWidth)
	fill(to, label, green)
	drawer := font.Drawer{
		Dst: to, Src: image.White, Face: face, Dot: fixed.P(r.Min.X+lineWidth, r.Min.Y+face.Ascent+lineWidth/2),
	}
	drawer.DrawString(name)
}
