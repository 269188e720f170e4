package infer

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"strings"
	"testing"

	"golang.org/x/image/font"

	"github.com/collabui/collabui/fault"
)

func TestCaptionsFitTheirColumn(t *testing.T) {
	face, err := textFace()
	if err != nil {
		t.Fatal(err)
	}
	const width = 150
	for text, want := range map[string]int{
		"":                                 1,
		"1: wait":                          1,
		"2: click button \"Send all now\"": 2,
		strings.Repeat("word ", 500):       maxCaption,
		strings.Repeat("w", 500):           maxCaption,
	} {
		lines := wrap(face, text, width, maxCaption)
		if got := max(1, len(lines)); got != want {
			t.Errorf("%.30q has %d lines, want %d", text, got, want)
		}
		for _, l := range lines {
			if got := font.MeasureString(face, l).Ceil(); got > width+textSize { // … may stand out
				t.Errorf("the line %q is %d pixels wide, want at most %d", l, got, width)
			}
		}
		if whole := strings.Join(lines, " "); want < maxCaption && whole != text {
			t.Errorf("%q is broken into %q, want the same words", text, lines)
		}
	}
}

// A server of an environment chooses what it sends as a screenshot.
func TestAStripRefusesWhatIsNoScreenshot(t *testing.T) {
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	large := small.Bytes()
	binary.BigEndian.PutUint32(large[16:], 1<<20) // width and height in the header
	binary.BigEndian.PutUint32(large[20:], 1<<20)
	binary.BigEndian.PutUint32(large[29:], crc32.ChecksumIEEE(large[12:29]))

	var s strip
	for want, shot := range map[string][]byte{"is not a PNG": []byte("GIF89a"), "expected at most": large} {
		err := s.add(shot)
		if fault.KindOf(err) != fault.Void || !strings.Contains(err.Error(), want) {
			t.Errorf("add = %v, want a void fault with %q", err, want)
		}
	}
}
