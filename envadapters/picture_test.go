package envadapters_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"runtime"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// shot is a screenshot that an environment has taken.
type shot []byte

func (s shot) Screenshot(context.Context) ([]byte, error) { return s, nil }

// ofSize returns a PNG of one pixel whose header claims another size.
func ofSize(t *testing.T, width, height uint32) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	raw := out.Bytes()
	binary.BigEndian.PutUint32(raw[16:], width)
	binary.BigEndian.PutUint32(raw[20:], height)
	binary.BigEndian.PutUint32(raw[29:], crc32.ChecksumIEEE(raw[12:29]))

	return raw
}

func TestALargeScreenshotIsRefusedBeforeItIsDecoded(t *testing.T) {
	for name, c := range map[string]struct {
		raw []byte
		ok  bool
	}{
		"small":        {ofSize(t, 1, 1), true},
		"large":        {ofSize(t, 100_000, 100_000), false},
		"wide":         {ofSize(t, 1<<31-1, 1), false},
		"huge":         {ofSize(t, 1<<31-1, 1<<31-1), false},
		"of no size":   {ofSize(t, 0, 0), false},
		"another file": {[]byte("GIF89a"), false},
		"nothing":      {nil, false},
		"cut short":    {ofSize(t, 1, 1)[:20], false},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, taken := envadapters.Take(t.Context(), shot(c.raw))
		_, decoded := envadapters.DecodePNG(c.raw)
		runtime.ReadMemStats(&after)
		for what, err := range map[string]error{"Take": taken, "DecodePNG": decoded} {
			if (err == nil) != c.ok || err != nil && fault.KindOf(err) != fault.Void {
				t.Errorf("%s: %s = %v, want a void fault: %v", name, what, err, !c.ok)
			}
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s: took %d bytes, want less than 1 MB", name, took)
		}
	}
}
