package results

import (
	"context"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
	"github.com/collabui/collabui/workers/catalog"
)

// library returns the maker of pages for the store: for the files of this data folder, whether its services run or not,
// or for the store at an address.
func library(a *app.App) (*view.Library, error) {
	bucket, err := a.OpenObjects()
	if err != nil {
		return nil, err
	}

	return libraryOf(a, bucket), nil
}

// libraryOf returns the maker of pages for a store.
func libraryOf(a *app.App, bucket store.Bucket) *view.Library {
	return &view.Library{
		Bucket: bucket, Catalog: catalog.All{},
		Status: func(ctx context.Context, run string) (any, error) {
			endpoints := a.RunningEndpoints()
			st, err := status.Read(ctx, bucket, endpoints, run)
			if err == nil && endpoints.Temporal != "" {
				st.ReadLive(ctx, endpoints)
			}

			return st, err
		},
		States: func(ctx context.Context, names []string) map[string]view.RunState {
			return status.States(ctx, bucket, a.RunningEndpoints(), names)
		},
	}
}
