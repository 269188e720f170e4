package mind2web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/recorded"
)

// RanksFile is the name of a file in the folder of the data that ranks the candidates. Each line has the form {"id":
// "<annotation_id>_<action_uid>", "ranks": {"<backend_node_id>": 0, …}}. scripts/mind2web_ranks.py makes the file from
// the published pickle of scores. Without it, candidates are ranked by the words that they share with the task.
const RanksFile = "ranks.jsonl"

// ranking contains the ranks of the candidates of each step. It is nil without a RanksFile.
type ranking map[string]map[string]int

func readRanks(folder string) (ranking, error) {
	file := filepath.Join(folder, RanksFile)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	out := ranking{}
	_, _, err := recorded.Read(file, false, func(raw []byte, _ recorded.Where) error {
		var r struct {
			ID    string
			Ranks map[string]int
		}
		err := json.Unmarshal(raw, &r)
		if err == nil && r.ID == "" {
			err = fmt.Errorf("id may not be empty")
		}
		out[r.ID] = r.Ranks

		return err
	})

	return out, err
}

// top returns the first TopK candidates of a step, and the right ones among them. With a ranking, it leaves out
// candidates without a rank and all candidates of an unknown step.
func (r ranking) top(t task, a action) (cs []candidate, right []string) {
	all := slices.Concat(a.Pos, a.Neg)
	rank := map[string]float64{}
	if r == nil {
		rank = lexical(t, a, all)
	}
	for node, k := range r[t.ID+"_"+a.ID] {
		rank[node] = float64(k)
	}

	all = slices.DeleteFunc(all, func(c candidate) bool {
		_, ok := rank[c.Node]
		return !ok
	})
	slices.SortStableFunc(all, func(x, y candidate) int {
		if d := rank[x.Node] - rank[y.Node]; d != 0 {
			return int(math.Copysign(1, d))
		}
		return strings.Compare(x.Node, y.Node)
	})
	all = slices.CompactFunc(all, func(x, y candidate) bool { return x.Node == y.Node })

	cs = all[:min(len(all), TopK)]
	for _, p := range a.Pos {
		if slices.ContainsFunc(cs, func(c candidate) bool { return c.Node == p.Node }) {
			right = append(right, p.Node)
		}
	}

	return cs, right
}

// weightedRoles are the roles of elements that take input.
var weightedRoles = []string{"field", domain.RoleSelect, "button", "link", "checkbox", "radio"}

// lexical ranks candidates by the words that they share with the task; lower is better. A shared word counts more the
// fewer candidates contain it, an element that takes input counts more, and a long text counts less.
func lexical(t task, a action, all []candidate) map[string]float64 {
	goalWords := map[string]bool{}
	for _, word := range tokens(t.Goal) {
		goalWords[word] = true
	}

	elements := a.elements(all)
	words := make([][]string, len(elements))
	frequency := map[string]int{}
	for i, element := range elements {
		words[i] = tokens(element.Text + " " + element.Desc)
		slices.Sort(words[i])
		words[i] = slices.Compact(words[i])
		for _, w := range words[i] {
			frequency[w]++
		}
	}

	out := map[string]float64{}
	for i, e := range elements {
		sum := 0.0
		for _, w := range words[i] {
			if goalWords[w] {
				sum += math.Log(1 + float64(len(elements))/float64(frequency[w]))
			}
		}
		if slices.Contains(weightedRoles, e.Role) {
			sum += 0.5
		}
		out[e.ID] = -sum / (1 + 0.1*float64(len(words[i])))
	}

	return out
}

// tokens returns the words of a text in lower case.
func tokens(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
