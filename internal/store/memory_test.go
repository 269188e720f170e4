package store

import (
	"errors"
	"fmt"
	"testing"
)

func TestGetOfAMissingObjectIsNotFound(t *testing.T) {
	if _, err := (&Memory{}).Get(t.Context(), "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get() = %v, want %v", err, ErrNotFound)
	}
}

func TestListIsInLexicalOrder(t *testing.T) {
	b := &Memory{}
	for _, key := range []string{"p/b", "p/a", "q/c"} {
		if _, err := b.PutOnce(t.Context(), key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.List(t.Context(), "p/")
	if err != nil {
		t.Fatal(err)
	}
	if want := []Ref{{Key: "p/a", Size: 1}, {Key: "p/b", Size: 1}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("List() = %v, want %v", got, want)
	}
}
