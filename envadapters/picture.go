package envadapters

import (
	"bytes"
	"context"
	"image"
	"image/png"

	"github.com/collabui/collabui/fault"
)

// MaxPixels is the largest number of pixels that a screenshot may have. A few kB of PNG can claim to be a picture of
// any size.
const MaxPixels = 32 << 20

// Take returns a screenshot after it has checked that the header is a PNG header for at most MaxPixels. Otherwise it
// returns a fault of kind Void.
func Take(ctx context.Context, screenshotter Screenshotter) ([]byte, error) {
	shot, err := screenshotter.Screenshot(ctx)
	if err == nil {
		err = checkPNG(shot)
	}
	if err != nil {
		return nil, err
	}

	return shot, nil
}

// DecodePNG decodes a screenshot of at most MaxPixels. Otherwise it returns a fault of kind Void.
func DecodePNG(shot []byte) (image.Image, error) {
	if err := checkPNG(shot); err != nil {
		return nil, err
	}
	src, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, fault.New(fault.Void, "the screenshot is not a PNG: %w", err)
	}

	return src, nil
}

func checkPNG(shot []byte) error {
	c, err := png.DecodeConfig(bytes.NewReader(shot))
	if err != nil {
		return fault.New(fault.Void, "the screenshot is not a PNG: %w", err)
	}
	if c.Width*c.Height > MaxPixels {
		return fault.New(fault.Void, "the screenshot has %d x %d pixels; expected at most %d in all", c.Width, c.Height,
			MaxPixels)
	}

	return nil
}
