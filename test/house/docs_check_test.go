package house

import (
	"strings"
	"testing"
	"testing/fstest"
)

// planted returns the symbols of a package for the tests below.
func planted(t *testing.T) map[string]symbols {
	t.Helper()

	f, err := parsed("internal/store/a.go", `package store

type Bucket interface{ Put() }

type List[T any] struct{ Size int }

func (l *List[T]) Add() {}

func Open() {}

const most, least = 1, 2
`)
	if err != nil {
		t.Fatal(err)
	}

	return exported([]source{f})
}

func TestTheCheckOfSymbolsFindsWhatIsMissing(t *testing.T) {
	known := planted(t)

	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{name: "a function", text: "see `internal/store.Open`"},
		{name: "an unexported constant", text: "see `internal/store.least`"},
		{name: "a method of a generic type", text: "see `internal/store.List.Add`"},
		{name: "a field", text: "see `internal/store.List.Size`"},
		{name: "a method of an interface", text: "see `internal/store.Bucket.Put`"},
		{name: "keys and files", text: "`finetune.levels`, `epochs/0003/epoch.json`, `f(x)`"},
		{
			name: "no such function", text: "\nsee `internal/store.Close`",
			want: []string{"a.md:2: \"internal/store.Close\" does not"},
		},
		{
			name: "no such package", text: "see `internal/shop.Open`",
			want: []string{"package internal/shop, which does not"},
		},
		{
			name: "no such method", text: "see `internal/store.Bucket.Get`",
			want: []string{"does not exist in internal/store"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			mustFind(t, checkSymbols(source{name: "a.md", text: c.text}, known), c.want...)
		})
	}
}

func TestTheCheckOfTheOverviewFindsWhatIsMissing(t *testing.T) {
	known := planted(t)
	head := "# Overview\n\n| Where is … | file | symbol |\n|---|---|---|\n"
	good := strings.Repeat("| an object kept? | store.go | `internal/store.Open` |\n", fewestRows)

	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{name: "right", text: head + good},
		{name: "two symbols", text: head + good + "| a thing? | | `internal/store.Open`, `internal/store.most` |\n"},
		{name: "no table", text: "# Overview\n", want: []string{"has 0 rows"}},
		{
			name: "too few rows", text: head + strings.Repeat("| a? | `internal/store.Open` |\n", 3),
			want: []string{"has 3 rows"},
		},
		{name: "another table does not count", text: "| term |\n|---|\n" + good, want: []string{"has 0 rows"}},
		{
			name: "a missing symbol", text: head + good + "| a? | `internal/store.Shut` |\n",
			want: []string{"Shut\" does not exist"},
		},
		{name: "no symbol", text: head + good + "| a? | store |\n", want: []string{"names no symbol"}},
		{
			name: "not a symbol", text: head + good + "| a? | `store.go file` |\n",
			want: []string{"does not look like a symbol"},
		},
		{name: "another column is free", text: head + good + "| a? | `x y` | `internal/store.Open` |\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mustFind(t, checkWhere(source{name: "docs/overview.md", text: c.text}, known), c.want...)
		})
	}
}

func TestTheCheckOfTestNamesFindsWhatIsMissing(t *testing.T) {
	f, err := parsed("a_test.go", "package a\n\nfunc TestKill(t *testing.T) {}\n\nfunc FuzzParse(f *testing.F) {}\n")
	if err != nil {
		t.Fatal(err)
	}

	page := source{name: "docs/a.md", text: "| a | TestKill, FuzzParse |\n| b | TestKilled and BenchmarkNone |"}
	mustFind(t, checkTestNames(page, testNames([]source{f})), "docs/a.md:2: TestKilled", "BenchmarkNone is not")
}

func TestTheCheckOfLinksFindsWhatIsMissing(t *testing.T) {
	tree := fstest.MapFS{"docs/a.md": {}, "README.md": {}}
	page := source{name: "docs/b.md", text: "[a](a.md#part) [r](../README.md) [w](https://example.org)\n" +
		"![p](images/p.png) [up](../../x)"}
	mustFind(t, checkLinks(page, tree), "docs/b.md:2: the link \"images/p.png\"", "the link \"../../x\"")
}
