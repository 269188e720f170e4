package infer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// film takes the screenshots of one episode. A film without a camera takes none.
type film struct {
	camera  envadapters.Screenshotter
	dir     string
	episode int
}

// film returns the film of an episode. It is invalid to ask for one of an environment that has no screenshots.
func (l Live) film(env envadapters.Environment, episode int) (*film, error) {
	if l.Screenshots == "" {
		return &film{}, nil
	}
	can := envadapters.Can(env)
	if can.Screenshotter == nil {
		return nil, fault.New(fault.Invalid, "%s has no screenshots: leave out --screenshots", l.Suite.Name())
	}
	if err := os.MkdirAll(l.Screenshots, 0o700); err != nil {
		return nil, fault.New(fault.Invalid, "screenshots: %w", err)
	}

	return &film{camera: can.Screenshotter, dir: l.Screenshots, episode: episode}, nil
}

// shoot writes the screen on which step n is decided, and returns the name of its file.
func (f *film) shoot(ctx context.Context, n int) (string, error) {
	if f.camera == nil {
		return "", nil
	}
	png, err := envadapters.Take(ctx, f.camera)
	if err != nil {
		return "", err
	}
	file := filepath.Join(f.dir, fmt.Sprintf("episode-%02d-step-%02d.png", f.episode, n))
	if err := os.WriteFile(file, png, 0o600); err != nil {
		return "", fault.New(fault.Invalid, "screenshots: %w", err)
	}

	return file, nil
}
