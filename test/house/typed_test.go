package house

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/collabui/collabui/test/kit/typed"
)

// TestEveryCommandThatIsNotTypedIsOnAPage checks the list of commands that TestTheCommandsOfTheFirstPages leaves out.
func TestEveryCommandThatIsNotTypedIsOnAPage(t *testing.T) {
	var pages []source
	for _, name := range typed.Pages {
		pages = append(pages, document(t, name))
	}
	report(t, checkTyped(pages, typed.Untyped))
}

func TestHouseFindsDeadEntriesOfCommands(t *testing.T) {
	page := source{name: "README.md", text: "```\nmake train\nbin/collabui runs\n```\n"}
	mustFind(t, checkTyped([]source{page}, map[string]string{"make train": "takes minutes"}))
	mustFind(t, checkTyped([]source{page}, map[string]string{"make tran": "takes minutes", "runs": ""}),
		`"make tran" is on no page`, `"runs" has no reason`)
}

func checkTyped(pages []source, untyped map[string]string) []problem {
	shown := map[string]bool{}
	for _, page := range pages {
		for _, command := range typed.Commands(page.text) {
			shown[command] = true
		}
	}

	var problems []problem
	for _, command := range slices.Sorted(maps.Keys(untyped)) {
		text := ""
		switch {
		case !shown[command]:
			text = fmt.Sprintf("%q is on no page: remove it from the list", command)
		case untyped[command] == "":
			text = fmt.Sprintf("%q has no reason: add it", command)
		}
		if text != "" {
			problems = append(problems, problem{file: "test/kit/typed/typed.go", line: 1, text: text})
		}
	}

	return problems
}
