package play

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/picture"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Camera takes and keeps the pictures of the episodes of one environment, for agents and for people.
type Camera struct {
	bucket store.Bucket
	given  spec.Spec
	env    envadapters.Environment
	shot   []byte // of the screen that agents looked at last, until people have it
}

// NewCamera returns the camera of an environment.
func NewCamera(bucket store.Bucket, given spec.Spec, env envadapters.Environment) *Camera {
	return &Camera{bucket: bucket, given: given, env: env}
}

var _ episode.Camera = (*Camera)(nil)

// Look returns what the agents of a configuration see of the present screen. It returns no pictures if they see text
// only. An environment without screenshots is an invalid fault.
func (c *Camera) Look(
	ctx context.Context, screen domain.Observation, config agents.Config,
) (picture.Pictures, error) {
	if !c.given.Observation.Pictured() {
		return picture.Pictures{}, nil
	}
	shot, err := c.take(ctx)
	if err != nil {
		return picture.Pictures{}, err
	}
	pictures, err := picture.Draw(shot, screen, config.Dealt(screen), c.given.Observation)
	if err != nil {
		return pictures, err
	}

	return pictures, c.keep(ctx, append(pictures.Parts[:len(pictures.Parts):len(pictures.Parts)], pictures.Whole)...)
}

// Solo returns the pictures that an agent of the literature sees: the screen and, with marks, also the marked one. A
// policy of the run sees as many pixels as the run's agents, and a chat model the whole screenshot.
func (c *Camera) Solo(
	ctx context.Context, screen domain.Observation, marks, policy bool,
) ([]chat.Image, error) {
	shot, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	images := []chat.Image{chat.NewImage(shot)}
	if policy {
		plain := agents.Presentation{Pixels: c.given.Observation.Pixels}
		drawn, err := picture.Draw(shot, screen, nil, plain)
		if err != nil {
			return nil, err
		}
		images[0] = drawn.Whole
	}
	if marks {
		marked, err := c.marked(shot, screen, policy)
		if err != nil {
			return nil, err
		}
		images = append(images, marked)
	}

	return images, c.keep(ctx, images[len(images)-1]) // the one that the record of the answer names
}

func (c *Camera) marked(shot []byte, screen domain.Observation, policy bool) (chat.Image, error) {
	if !policy {
		return picture.Mark(shot, screen)
	}
	marked := agents.Presentation{Marks: true, Pixels: c.given.Observation.Pixels}
	drawn, err := picture.Draw(shot, screen, nil, marked)

	return drawn.Whole, err
}

// take returns a screenshot of the present screen.
func (c *Camera) take(ctx context.Context) ([]byte, error) {
	screenshotter := envadapters.Can(c.env).Screenshotter
	if screenshotter == nil {
		return nil, NoScreenshots()
	}
	shot, err := envadapters.Take(ctx, screenshotter)
	c.shot = shot

	return shot, err
}

// NoScreenshots returns the invalid fault of an environment that cannot show its screen to systems that see pictures.
func NoScreenshots() error {
	return fault.New(fault.Invalid, "the environment has no screenshots, which this system reads: set "+
		"observation.kind: text, or images: false for a model that needs none, or leave the system out there")
}

// keep stores pictures, so that records may name them. Empty ones are left out.
func (c *Camera) keep(ctx context.Context, images ...chat.Image) error {
	for _, image := range images {
		if image.Digest == "" {
			continue
		}
		if _, err := store.PutBlob(ctx, c.bucket, image.PNG); err != nil {
			return err
		}
	}

	return nil
}

// Screenshot keeps a screenshot for people: the one that agents looked at, if they did. It returns nil if the
// specification wants no screenshots, or the environment cannot take them.
func (c *Camera) Screenshot(ctx context.Context) (*store.Ref, error) {
	if envadapters.Can(c.env).Screenshotter == nil || !c.given.Screenshots {
		return nil, nil
	}
	if c.shot == nil {
		if _, err := c.take(ctx); err != nil {
			return nil, err
		}
	}
	ref, err := store.PutBlob(ctx, c.bucket, c.shot)
	c.shot = nil

	return &ref, err
}

// Last returns the screen after the last step of an episode, or nil if it shows nothing.
func (c *Camera) Last(ctx context.Context, played episode.Played) (*runs.Screen, error) {
	if len(played.Last.Elements) == 0 {
		return nil, nil
	}
	image, err := c.Screenshot(ctx)

	return &runs.Screen{Observation: played.Last, Image: image, Touch: played.Touch}, err
}
