package openenv

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

var inQuotes = regexp.MustCompile("`([^`]+)`")

// described returns the backquoted texts in the tables of a section of docs/add-an-environment.md, by row and cell. It
// reads only tables whose heading begins with a word.
func described(t *testing.T, heading string) [][][]string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/add-an-environment.md")
	if err != nil {
		t.Fatal(err)
	}

	var rows [][][]string
	inside := false
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		if strings.HasPrefix(line, "| "+heading+" |") {
			inside = true
			continue
		}
		if !inside || strings.HasPrefix(line, "|---") {
			continue
		}
		var row [][]string
		for cell := range strings.SplitSeq(strings.Trim(line, "|\n"), "|") {
			var names []string
			for _, m := range inQuotes.FindAllStringSubmatch(cell, -1) {
				names = append(names, m[1])
			}
			row = append(row, names)
		}
		rows = append(rows, row)
	}

	return rows
}

func TestTheDocsListEveryActionWithItsFields(t *testing.T) {
	for _, f := range []domain.Family{domain.FamilyMobile, domain.FamilyWeb} {
		var got []string
		for _, row := range described(t, string(f)) {
			got = append(got, strings.Join(row[0], " ")+": "+strings.Join(row[1], " "))
		}
		slices.Sort(got)

		var want []string
		for _, a := range domain.Samples(f) {
			want = append(want, a.Type+": "+fieldsOf(t, a))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the docs list the %s actions %q, want %q", f, got, want)
		}
	}
}

// fieldsOf returns the fields of an action in the order of its signature. Optional fields have a question mark.
func fieldsOf(t *testing.T, a domain.Action) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.JSON()), &fields); err != nil {
		t.Fatal(err)
	}
	order := []string{
		"element", "text", "direction", "index", "app_name", "goal_status", "option", "press_enter", "url", "new_tab",
		"tab", "message", "answer",
	}
	var out []string
	for _, name := range order {
		if _, has := fields[name]; !has {
			continue
		}
		without := map[string]json.RawMessage{}
		for k, v := range fields {
			if k != name {
				without[k] = v
			}
		}
		raw, _ := json.Marshal(without)
		if _, err := domain.ParseAction(raw); err == nil {
			name += "?"
		}
		out = append(out, name)
	}

	return strings.Join(out, " ")
}

// tags returns the names of a struct's fields in JSON or YAML, or in Go if tag is empty.
func tags(of reflect.Type, tag string) []string {
	var names []string
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
		if tag == "" && !f.Anonymous {
			name = "." + f.Name
		}
		if name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)

	return names
}

func TestTheDocsListElementsAndMappings(t *testing.T) {
	for _, x := range []struct {
		name, heading string
		first         string // the name of the table's first row
		want          []string
	}{
		{"elements", "field", "i", tags(reflect.TypeFor[domain.Element](), "json")},
		{"mappings", "key", "family", tags(reflect.TypeFor[envadapters.Mapping](), "yaml")},
		{"templates of actions", "field", ".ID", tags(reflect.TypeFor[Act](), "")},
	} {
		t.Run(x.name, func(t *testing.T) {
			rows := described(t, x.heading)
			begin := slices.IndexFunc(rows, func(r [][]string) bool { return slices.Contains(r[0], x.first) })
			if begin < 0 {
				t.Fatalf("no table of %s, want one that begins with %s", x.name, x.first)
			}
			var got []string
			for _, row := range rows[begin:] {
				if len(row[0]) > 0 && strings.HasPrefix(row[0][0], ".") == strings.HasPrefix(x.first, ".") {
					got = append(got, row[0]...)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, x.want) {
				t.Errorf("the docs list %q, want %q", got, x.want)
			}
		})
	}
}
