package chat

import (
	"crypto/sha256"
	"encoding/hex"
)

// Image is a PNG file that is shown with the user's message. Its digest is a part of the request's identity.
type Image struct {
	// Digest is the SHA-256 of the file in hexadecimal digits, by which the store knows it.
	Digest string
	// PNG is the file, or nil if it has to be read from the store.
	PNG []byte `json:"-"`
}

// NewImage returns the image of a PNG file.
func NewImage(png []byte) Image {
	sum := sha256.Sum256(png)

	return Image{Digest: hex.EncodeToString(sum[:]), PNG: png}
}

// Images returns the images of a request that shows one picture, or nil if there is none.
func (i Image) Images() []Image {
	if i.Digest == "" {
		return nil
	}

	return []Image{i}
}

// Stored returns the images of a request that shows one picture of the store, or nil if the digest is empty.
func Stored(digest string) []Image { return Image{Digest: digest}.Images() }
