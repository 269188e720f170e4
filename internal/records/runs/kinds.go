package runs

import (
	"context"
	"regexp"
	"strings"

	"github.com/collabui/collabui/internal/store"
)

// ObjectKind is the kind of thing that an object of a run belongs to.
type ObjectKind string

// Kinds of objects.
const (
	KindEpisode    ObjectKind = "episodes"
	KindEvaluation ObjectKind = "evaluations"
	KindStage1     ObjectKind = "stage 1"
	KindCall       ObjectKind = "recorded calls"
	KindOther      ObjectKind = ""
)

// KindOf returns the kind of an object of the run.
func (r Run) KindOf(key string) ObjectKind {
	key = strings.TrimPrefix(key, r.Prefix())
	switch {
	case strings.Contains(key, "/episodes/"):
		return KindEpisode
	case strings.HasPrefix(key, "evals/"):
		return KindEvaluation
	case strings.HasPrefix(key, "finetune/"):
		return KindStage1
	case strings.HasPrefix(key, "calls/"):
		return KindCall
	}

	return KindOther
}

// parts matches objects that a manifest must refer to. An object that nothing refers to is left over from a void
// attempt, or from an epoch that was never committed.
var parts = regexp.MustCompile(`/(steps/\d+|episode|credit|pairs|dataset|update|topology|slots)\.json$`)

// NeedsNoReference reports whether an object is complete in itself: a specification, a claim, a checkpoint, an
// evaluation, a commit or an entry of a line.
func NeedsNoReference(key string) bool {
	return !store.IsBlob(key) && !parts.MatchString(key)
}

// Attempts returns the ends of all attempts at a slot: episodes and void attempts.
func (r Run) Attempts(ctx context.Context, bucket store.Bucket, epoch, slot int) ([]Episode, error) {
	at, err := r.In(ctx, bucket, epoch)
	if err != nil {
		return nil, err
	}
	folders, err := bucket.Folders(ctx, at.EpisodePrefix(epoch, slot))
	if err != nil {
		return nil, err
	}

	var ends []Episode
	for _, attempt := range folders {
		episode, ended, err := store.May[Episode](ctx, bucket, at.EpisodePrefix(epoch, slot)+attempt+"/episode.json")
		if err != nil {
			return nil, err
		}
		if ended {
			ends = append(ends, episode)
		}
	}

	return ends, nil
}
