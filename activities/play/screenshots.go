package play

import (
	"context"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Screenshot keeps a screenshot. It returns nil if the specification wants no screenshots, or the environment cannot
// take them.
func Screenshot(
	ctx context.Context, bucket store.Bucket, specification spec.Spec, env envadapters.Environment,
) (*store.Ref, error) {
	screenshotter := envadapters.Can(env).Screenshotter
	if screenshotter == nil || !specification.Screenshots {
		return nil, nil
	}
	png, err := envadapters.Take(ctx, screenshotter)
	if err != nil {
		return nil, err
	}
	ref, err := store.PutBlob(ctx, bucket, png)

	return &ref, err
}

// LastScreen returns the screen after the last step of an episode, or nil if it shows nothing.
func LastScreen(
	ctx context.Context, bucket store.Bucket, given spec.Spec, env envadapters.Environment, played episode.Played,
) (*runs.Screen, error) {
	if len(played.Last.Elements) == 0 {
		return nil, nil
	}
	image, err := Screenshot(ctx, bucket, given, env)

	return &runs.Screen{Observation: played.Last, Image: image, Touch: played.Touch}, err
}
