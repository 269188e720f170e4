package results

import (
	"context"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
	"github.com/collabui/collabui/workers/catalog"
)

// library returns the maker of pages for the store, and the addresses of the services.
func library(a *app.App) (*view.Library, config.Endpoints, error) {
	bucket, endpoints, err := a.OpenObjects()
	if err != nil {
		return nil, endpoints, err
	}

	return libraryOf(a, bucket), endpoints, nil
}

// libraryOf returns the maker of pages for a store.
func libraryOf(a *app.App, bucket store.Bucket) *view.Library {
	return &view.Library{
		Bucket: bucket, Catalog: catalog.All{},
		Status: func(ctx context.Context, run string) (any, error) {
			endpoints, err := a.Endpoints()
			if err != nil {
				return nil, err
			}
			st, err := status.Read(ctx, bucket, endpoints, run)
			if err == nil {
				st.ReadLive(ctx, endpoints)
			}

			return st, err
		},
		States: func(ctx context.Context, names []string) map[string]view.RunState {
			endpoints, _ := a.Endpoints() // without addresses, the states are unknown

			return status.States(ctx, bucket, endpoints, names)
		},
	}
}
