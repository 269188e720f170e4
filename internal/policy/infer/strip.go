package infer

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"

	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
)

// Sizes of a strip, in pixels.
const (
	maxStrip    = 1720 // width of a row; more screens make more rows
	maxThumb    = 400  // longer side of a thumbnail
	gap         = 16
	textSize    = 13
	lineHeight  = 17
	maxCaption  = 4   // lines of a text
	narrowThumb = 150 // width of a column at least, so that captions fit
)

// strip is a picture of an episode: its screens in order, each with what was done on it.
type strip struct {
	title  string
	frames []frame
}

// frame is one screen, scaled down.
type frame struct {
	thumb   *image.RGBA
	caption string
}

// add appends a screenshot.
func (s *strip) add(shot []byte) error {
	src, err := envadapters.DecodePNG(shot)
	if err != nil {
		return err
	}
	size := src.Bounds().Size()
	scale := min(1, maxThumb/float64(max(size.X, size.Y)))
	thumb := image.NewRGBA(image.Rect(0, 0, max(1, int(float64(size.X)*scale)), max(1, int(float64(size.Y)*scale))))
	draw.CatmullRom.Scale(thumb, thumb.Bounds(), src, src.Bounds(), draw.Src, nil)
	s.frames = append(s.frames, frame{thumb: thumb})

	return nil
}

// say sets the caption of the last screen.
func (s *strip) say(caption string) {
	if n := len(s.frames); n > 0 {
		s.frames[n-1].caption = caption
	}
}

var (
	paper = image.NewUniform(color.White)
	ink   = image.NewUniform(color.Gray{Y: 0x20})
	edge  = image.NewUniform(color.Gray{Y: 0xb0})
)

// encode returns the strip as PNG.
func (s *strip) encode() ([]byte, error) {
	face, err := textFace()
	if err != nil {
		return nil, err
	}

	wide, high := narrowThumb, 1
	for _, f := range s.frames {
		wide, high = max(wide, f.thumb.Rect.Dx()), max(high, f.thumb.Rect.Dy())
	}
	captions, lines := make([][]string, len(s.frames)), 1
	for i, f := range s.frames {
		captions[i] = wrap(face, f.caption, wide, maxCaption)
		lines = max(lines, len(captions[i]))
	}
	most := max(1, (maxStrip-gap)/(wide+gap)) // columns
	rows := max(1, (len(s.frames)+most-1)/most)
	columns := max(1, (len(s.frames)+rows-1)/rows) // rows of the same length
	width := columns*(wide+gap) + gap
	title := wrap(face, s.title, width-2*gap, maxCaption)
	top := gap + len(title)*lineHeight + gap/2
	row := high + lines*lineHeight + gap

	to := image.NewRGBA(image.Rect(0, 0, width, top+rows*row))
	draw.Draw(to, to.Bounds(), paper, image.Point{}, draw.Src)
	write(to, face, title, gap, gap/2)
	for i, f := range s.frames {
		x, y := gap+i%columns*(wide+gap), top+i/columns*row
		frame := f.thumb.Rect.Add(image.Pt(x, y))
		draw.Draw(to, frame.Inset(-1), edge, image.Point{}, draw.Src)
		draw.Draw(to, frame, f.thumb, image.Point{}, draw.Src)
		write(to, face, captions[i], x, y+f.thumb.Rect.Dy()+gap/4)
	}

	var out bytes.Buffer
	err = png.Encode(&out, to)

	return out.Bytes(), err
}

func textFace() (font.Face, error) {
	f, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}

	return opentype.NewFace(f, &opentype.FaceOptions{Size: textSize, DPI: 72, Hinting: font.HintingNone})
}

// write draws lines of text below a point.
func write(to draw.Image, face font.Face, lines []string, x, y int) {
	d := font.Drawer{Dst: to, Src: ink, Face: face}
	for i, l := range lines {
		d.Dot = fixed.P(x, y+i*lineHeight+textSize)
		d.DrawString(l)
	}
}

// wrap breaks a text into at most so many lines of a width. What does not fit is cut.
func wrap(face font.Face, text string, width, most int) []string {
	fits := func(s string) bool { return font.MeasureString(face, s).Ceil() <= width }
	var lines []string
	rest := []rune(agents.Line(text, 400))
	for len(rest) > 0 && len(lines) < most {
		n := len(rest)
		for n > 1 && !fits(string(rest[:n])) {
			n--
		}
		if n < len(rest) && len(lines) == most-1 {
			return append(lines, strings.TrimSpace(string(rest[:n-1]))+"…")
		}
		if at := strings.LastIndexByte(string(rest[:n]), ' '); n < len(rest) && rest[n] != ' ' && at > 0 {
			n = len([]rune(string(rest[:n])[:at]))
		}
		lines = append(lines, strings.TrimSpace(string(rest[:n])))
		rest = []rune(strings.TrimSpace(string(rest[n:])))
	}

	return lines
}
