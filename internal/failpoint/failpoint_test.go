package failpoint

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAPlaceFailsOnceAtItsTurn(t *testing.T) {
	for _, verb := range []Verb{Error, Torn, Lost} {
		t.Run(string(verb), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "struck")
			t.Setenv(Variable, "other@1=error:"+file+"x,put.a/b@2="+string(verb)+":"+file)
			var effects []bool
			do := func(torn bool) error {
				effects = append(effects, torn)

				return nil
			}
			var failed []int
			for i := range 4 {
				if err := Do("put.a/b", do); errors.Is(err, ErrStruck) {
					failed = append(failed, i)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(failed, []int{1}) {
				t.Errorf("got faults at %v, want at 1 alone", failed)
			}
			want := map[Verb][]bool{
				Error: {false, false, false}, Torn: {false, true, false, false}, Lost: {false, false, false, false},
			}[verb]
			if !slices.Equal(effects, want) {
				t.Errorf("got the effects (true: torn) %v, want %v", effects, want)
			}
			if raw, err := os.ReadFile(file); err != nil || !strings.Contains(string(raw), "put.a/b@2") {
				t.Errorf("the file says %q, error %v; want the failpoint", raw, err)
			}
		})
	}
}

func TestAFailpointWhoseFileExistsHasStruck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "struck")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Variable, "once@1=kill:"+file)
	if err := Hit("once"); err != nil {
		t.Errorf("got %v, want nothing", err)
	}
}

func TestPlacesAreListed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "places")
	t.Setenv(Variable, "list:"+file)
	for _, place := range []string{"listed.a", "listed.b", "listed.a"} {
		if err := Hit(place); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "listed.a\nlisted.b\n" {
		t.Errorf("got %q and error %v, want both places, once", raw, err)
	}
}
