package activities

import (
	"context"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// picture keeps a screenshot, if the specification asks for them and the environment has them.
func (r *Rollouts) picture(ctx context.Context, s spec.Spec, env envadapters.Environment) (*store.Ref, error) {
	shot := envadapters.Can(env).Screenshotter
	if shot == nil || !s.Screenshots {
		return nil, nil
	}
	png, err := envadapters.Take(ctx, shot)
	if err != nil {
		return nil, err
	}
	ref, err := store.PutBlob(ctx, r.Bucket, png)

	return &ref, err
}

// end returns the screen after the last step of an episode; nil if it shows nothing.
func (r *Rollouts) end(
	ctx context.Context, s spec.Spec, env envadapters.Environment, played episode.Played,
) (*runs.Screen, error) {
	if len(played.Last.Elements) == 0 {
		return nil, nil
	}
	image, err := r.picture(ctx, s, env)

	return &runs.Screen{Observation: played.Last, Image: image, Touch: played.Touch}, err
}
