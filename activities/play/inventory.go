package play

import (
	"context"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/mixed"
	"github.com/collabui/collabui/internal/records/runs"
)

// InventoryOf returns what a suite offers, under the name that a specification gives it.
func InventoryOf(ctx context.Context, name string, suite envadapters.Suite) (runs.Inventory, error) {
	inventory := runs.Inventory{Environment: name, Title: suite.Title(), Templates: map[string][]string{}}
	for _, split := range suite.Splits() {
		templates, err := suite.Templates(split)
		if err != nil {
			return inventory, err
		}
		for _, template := range templates {
			inventory.Templates[split] = append(inventory.Templates[split], template.Name)
		}
	}
	versioned, ok := suite.(envadapters.Versioned)
	if !ok {
		return inventory, nil
	}
	var err error
	inventory.Version, err = versioned.Version(ctx)

	return inventory, err
}

// WithinMixed returns an inventory under the names that its tasks have in a mixed environment, if its own environment
// is a part of the mixed one.
func WithinMixed(inventory runs.Inventory, options envadapters.Options) runs.Inventory {
	if _, ok := options.Parts[inventory.Environment]; !ok {
		return inventory
	}

	templates := map[string][]string{}
	for split, names := range inventory.Templates {
		for _, name := range names {
			templates[split] = append(templates[split], mixed.Name(inventory.Environment, name))
		}
	}
	inventory.Templates = templates

	return inventory
}
