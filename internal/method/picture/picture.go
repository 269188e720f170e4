// Package picture draws what agents see of a screenshot: the part that belongs to an agent, scaled to a number of
// pixels, with a mark on every element. All roles, the trainer and the servers see the same files.
//
// It does no I/O. It links no browser driver. It links no Temporal.
package picture

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"slices"

	scaling "golang.org/x/image/draw"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
)

// patch is the side of the squares that are a token. Vision models scale other sides to multiples of it, so pictures
// have such sides already, and no program scales them once more.
const patch = agents.Patch

// Pictures are what a system sees of one screen.
type Pictures struct {
	Whole chat.Image
	// Parts holds the picture of each part of a divided screen, which is empty if the part has no elements. It is nil
	// if all agents see the whole.
	Parts []chat.Image
}

// Draw returns the pictures of a screenshot. dealt holds the indices of the elements of each part of the screen: see
// agents.Config.Dealt. A screenshot that cannot be read or is too large is a void fault.
func Draw(
	shot []byte, screen domain.Observation, dealt [][]int, shown agents.Presentation,
) (Pictures, error) {
	src, err := envadapters.DecodePNG(shot)
	if err != nil {
		return Pictures{}, err
	}

	var out Pictures
	if out.Whole, err = whole(src, screen, shown); err != nil {
		return out, err
	}
	for _, seen := range dealt {
		var part chat.Image
		if len(seen) > 0 {
			if part, err = partOf(src, screen, seen, shown); err != nil {
				return out, err
			}
		}
		out.Parts = append(out.Parts, part)
	}

	return out, nil
}

func whole(src image.Image, screen domain.Observation, shown agents.Presentation) (chat.Image, error) {
	to := resize(src, src.Bounds(), shown.Pixels)
	if shown.Marks {
		markAll(to, agents.View{Observation: screen}.Shown(), func(element domain.Element) image.Rectangle {
			return scaledBounds(element.Bounds, screen, to.Bounds())
		})
	}

	return encode(to)
}

// partOf returns the picture of some elements: cropped to them, without anything that is not on one of them. Elements
// within others that the agent does not see are hidden, and so is the ground around them.
func partOf(
	src image.Image, screen domain.Observation, seen []int, shown agents.Presentation,
) (chat.Image, error) {
	place := func(element domain.Element) image.Rectangle {
		return scaledBounds(element.Bounds, screen, src.Bounds())
	}
	var frame image.Rectangle
	elements := agents.View{Observation: screen}.Shown()
	for _, element := range elements {
		if slices.Contains(seen, element.Index) {
			frame = frame.Union(place(element))
		}
	}
	if frame.Empty() { // the elements have no place on the screen
		return chat.Image{}, nil
	}

	canvas := image.NewRGBA(frame)
	fill(canvas, frame, hidden)
	area := func(element domain.Element) int { return element.Bounds[2] * element.Bounds[3] }
	inward := slices.Clone(elements)
	slices.SortStableFunc(inward, func(a, b domain.Element) int { return cmp.Compare(area(b), area(a)) })
	for _, element := range inward {
		if slices.Contains(seen, element.Index) {
			draw.Draw(canvas, place(element), src, place(element).Min, draw.Src)
		} else {
			fill(canvas, place(element), hidden)
		}
	}

	to := resize(canvas, frame, shown.Pixels)
	if shown.Marks {
		mine := agents.View{Observation: screen, Seen: seen}.Shown()
		markAll(to, mine, func(element domain.Element) image.Rectangle {
			return mapped(place(element).Intersect(frame), frame, to.Bounds())
		})
	}

	return encode(to)
}

// hidden is the colour of what an agent does not see.
var hidden = color.RGBA{R: 0x80, G: 0x80, B: 0x80, A: 0xff}

// mapped returns where a rectangle of a frame is after the frame has been scaled to bounds.
func mapped(r, frame, bounds image.Rectangle) image.Rectangle {
	at := func(p image.Point) image.Point {
		p = p.Sub(frame.Min)

		return image.Pt(p.X*bounds.Dx()/frame.Dx(), p.Y*bounds.Dy()/frame.Dy())
	}

	return image.Rectangle{Min: at(r.Min), Max: at(r.Max)}
}

// resize returns a frame of an image, scaled to a size with sides that are multiples of patch.
func resize(src image.Image, frame image.Rectangle, pixels int) *image.RGBA {
	to := image.NewRGBA(image.Rectangle{Max: size(frame.Dx(), frame.Dy(), pixels)})
	scaling.CatmullRom.Scale(to, to.Bounds(), src, frame, draw.Src, nil)

	return to
}

// size returns the size nearest to a width and a height whose sides are multiples of patch, of at most the given number
// of pixels. The sides have at least two patches.
func size(width, height, pixels int) image.Point {
	shrink := max(1, math.Sqrt(float64(width)*float64(height)/float64(pixels)))
	round := math.Round
	if shrink > 1 {
		round = math.Floor
	}
	side := func(n int) int { return max(2*patch, int(round(float64(n)/shrink/patch))*patch) }
	x := side(width)
	y := side(height)
	if x*y <= pixels {
		return image.Pt(x, y)
	}
	if x > y { // the shorter side was raised to two patches, or both were rounded up
		return image.Pt(max(2*patch, pixels/y/patch*patch), y)
	}

	return image.Pt(x, max(2*patch, pixels/x/patch*patch))
}

func encode(picture image.Image) (chat.Image, error) {
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		return chat.Image{}, fault.As(fault.Fatal, err)
	}

	return chat.NewImage(out.Bytes()), nil
}
