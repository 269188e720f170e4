package view

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/store"
)

// imageFolder is the folder of a report's screenshots, by digest.
const imageFolder = "image"

// pngMagic is the beginning of every PNG.
var pngMagic = []byte("\x89PNG\r\n\x1a\n")

// maxImage bounds the size of a screenshot, in bytes.
const maxImage = 64 << 20

// image returns a screenshot. Other blobs, such as policies of gigabytes, are not found, and not held in memory.
func (l *Library) image(ctx context.Context, digest string) ([]byte, error) {
	if sum, err := hex.DecodeString(digest); err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("image %q: %w", digest, store.ErrNotFound)
	}
	var png []byte
	err := store.StreamBlob(ctx, l.Bucket, digest, func(reader io.Reader) (err error) {
		head := make([]byte, len(pngMagic))
		if _, err := io.ReadFull(reader, head); err != nil || !bytes.Equal(head, pngMagic) {
			return fmt.Errorf("blob %s is not a picture: %w", digest, store.ErrNotFound)
		}
		png, err = io.ReadAll(io.MultiReader(bytes.NewReader(head), io.LimitReader(reader, maxImage)))
		if err == nil && len(png) > maxImage {
			err = fmt.Errorf("picture %s is larger than %d bytes: %w", digest, maxImage, store.ErrNotFound)
		}

		return err
	})
	if errors.Is(err, store.ErrAbsent) { // a person may name any digest
		err = fmt.Errorf("image %q: %w", digest, store.ErrNotFound)
	}

	return png, err
}

// serveImage responds with a screenshot, which never changes.
func (s *Server) serveImage(w http.ResponseWriter, r *http.Request) {
	png, err := s.Library.image(r.Context(), strings.TrimSuffix(r.PathValue("name"), ".png"))
	if err != nil {
		http.NotFound(w, r)

		return
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	_, _ = w.Write(png)
}

// writeImages writes the screenshots of an episode, and the pictures that agents saw, next to the documents.
func (w writer) writeImages(ctx context.Context, d detail) error {
	for _, step := range d.Steps {
		if err := w.writeImage(ctx, step.Image); err != nil {
			return err
		}
		for _, cell := range step.Cells {
			if err := w.writeImage(ctx, cell.Image); err != nil {
				return err
			}
		}
	}
	if d.End == nil {
		return nil
	}

	return w.writeImage(ctx, d.End.Image)
}

func (w writer) writeImage(ctx context.Context, digest string) error {
	if digest == "" {
		return nil
	}
	png, err := w.image(ctx, digest)
	if err != nil {
		return err
	}

	return disk.Write(filepath.Join(w.folder, imageFolder), digest+".png", png)
}
