package health

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/store"
)

// TrialLimit bounds a trial of the store, which takes about 20 requests, one after the other.
const TrialLimit = 20 * time.Second

// StorePromises tries what the store must promise. It skips a store that cannot be reached.
func StorePromises(ctx context.Context, a *app.App) []Finding {
	if _, alive := supervisor.Read(a.Data); !alive && !a.Cluster {
		return nil
	}
	bucket, _, err := a.OpenStore()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, TrialLimit)
	defer cancel()
	broken, err := store.Promises(ctx, bucket)
	finding := Finding{What: "store's promises", OK: broken == ""}
	switch {
	case broken != "":
		finding.Detail = broken
		finding.Fix = "see " + PromisesSection
	case errors.Is(err, store.ErrNotTried):
		finding.Detail = strings.Join(strings.Fields("not tried: "+err.Error()), " ")
	case err != nil:
		finding.OK = false
		finding.Fix = "run " + a.Typed("doctor") + " again"
		finding.Detail = strings.Join(strings.Fields("not known: "+err.Error()), " ")
	default:
		finding.Detail = "If-None-Match, read after write, whole lists, copies, uploads in parts, deletion, clocks"
	}

	return []Finding{finding}
}

// PromisesSection is the section of the documentation about the promises of stores.
const PromisesSection = "\"What a store must promise\" in docs/guarantees.md"
