package house

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readsYAML finds the functions of the library that read YAML.
var readsYAML = regexp.MustCompile(`\byaml\.(Unmarshal|NewDecoder)\(`)

func TestYAMLIsReadInOnePlace(t *testing.T) {
	report(t, checkYAML(read(t)))
}

// checkYAML finds readers of YAML that do not use the bounds of internal/method/yamldoc.
func checkYAML(all []source) []problem {
	var problems []problem
	for _, s := range all {
		own := strings.HasPrefix(s.name, "internal/method/yamldoc/") || strings.HasPrefix(s.name, "test/")
		if s.ast == nil || own || strings.HasSuffix(s.name, "_test.go") {
			continue
		}
		for i, line := range strings.Split(s.text, "\n") {
			if readsYAML.MatchString(line) {
				problems = append(problems, problem{file: s.name, line: i + 1,
					text: "reads YAML without bounds: call yamldoc.Read"})
			}
		}
	}

	return problems
}

func TestTheCheckOfYAMLFindsReadersWithoutBounds(t *testing.T) {
	text := "package a\n\nvar err = yaml.Unmarshal(raw, &v)\n"
	var all []source
	for _, name := range []string{"a.go", "a_test.go", "test/kit/a.go", "internal/method/yamldoc/a.go"} {
		s, err := parsed(name, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	want := []string{"a.go:3: reads YAML without bounds: call yamldoc.Read"}
	if got := texts(checkYAML(all)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
