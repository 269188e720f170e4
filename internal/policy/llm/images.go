package llm

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

// withFiles returns images with their files, which it reads from the store where they are missing. Images that the
// endpoint does not accept are an invalid fault, because an answer to the text alone would be mistaken for one to both.
func (c *Client) withFiles(ctx context.Context, images []chat.Image) ([]chat.Image, error) {
	if len(images) == 0 {
		return nil, nil
	}
	if !c.conf.Images {
		return nil, fault.New(fault.Invalid, "a request shows %d pictures, and the model behind %s takes none: set "+
			"images: true if it does", len(images), redactURL(c.conf.BaseURL))
	}

	out := make([]chat.Image, len(images))
	for i, picture := range images {
		out[i] = picture
		if picture.PNG != nil {
			continue
		}
		if c.conf.Picture == nil {
			return nil, fault.New(fault.Invalid, "nothing here can read picture %s", picture.Digest)
		}
		png, err := c.conf.Picture(ctx, picture.Digest)
		if err != nil {
			return nil, fmt.Errorf("picture of a request: %w", err)
		}
		out[i].PNG = png
	}

	return out, nil
}

// dataURL returns the URL that holds the file of an image.
func dataURL(picture chat.Image) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.PNG)
}
