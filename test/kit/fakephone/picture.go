package fakephone

import (
	"bytes"
	"image"
	"image/png"
)

// picture is a small screen as PNG.
var picture = func() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 60))); err != nil {
		panic(err)
	}
	return b.Bytes()
}()
