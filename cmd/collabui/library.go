package main

import (
	"context"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
	"github.com/collabui/collabui/workers/catalog"
)

// library returns the maker of pages for the store: for the files of this data folder, whether its services run or not,
// or for the store at an address.
func (a *app) library() (*view.Library, error) {
	b, err := a.objects()
	if err != nil {
		return nil, err
	}

	return a.libraryOf(b), nil
}

// libraryOf returns the maker of pages for a store.
func (a *app) libraryOf(b store.Bucket) *view.Library {
	return &view.Library{
		Bucket: b, Catalog: catalog.All{},
		Status: func(ctx context.Context, run string) (any, error) {
			e := a.addresses()
			st, err := readStatus(ctx, b, e, run)
			if err == nil && e.Temporal != "" {
				st.readLive(ctx, e)
			}

			return st, err
		},
	}
}
