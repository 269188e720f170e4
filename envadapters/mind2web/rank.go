package mind2web

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/collabui/collabui/envadapters/recorded"
)

// RanksFile holds a ranking of candidates, beside the data: {"id": "<annotation_id>_<action_uid>", "ranks": {"<backend_node_id>": 0, …}} per line. The published pickle of scores
// is turned into it by scripts/mind2web_ranks.py. Without it candidates are ranked by the words that they share with the task.
const RanksFile = "ranks.jsonl"

type ranking map[string]map[string]int

func readRanks(folder string) (ranking, error) {
	file := filepath.Join(folder, RanksFile)
	if _, err := os.Stat(file); os.IsNotExist(err) {
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

// top gives the first TopK candidates of a step and those of them that are right.
func (r ranking) top(t task, a action) (cs []candidate, right []string) {
	all := slices.Concat(a.Pos, a.Neg)
	rank := map[string]float64{}
	if ranks := r[t.ID+"_"+a.ID]; ranks != nil {
		for _, c := range all {
			rank[c.Node] = math.Inf(1)
			if k, ok := ranks[c.Node]; ok {
				rank[c.Node] = float64(k)
			}
		}
	} else if r == nil {
		rank = lexical(t, a, all)
	} else {
		return nil, nil // a step that the ranking does not know has no candidates
	}
	slices.SortStableFunc(all, func(x, y candidate) int {
		if d := rank[x.Node] - rank[y.Node]; d != 0 && !math.IsNaN(d) {
			return int(math.Copysign(1, d))
		}
		return strings.Compare(x.Node, y.Node)
	})
	all = slices.CompactFunc(all, func(x, y candidate) bool { return x.Node == y.Node })
	if r != nil { // what has no rank is no candidate
		all = slices.DeleteFunc(all, func(c candidate) bool { return math.IsInf(rank[c.Node], 1) })
	}
	cs = all[:min(len(all), TopK)]
	for _, p := range a.Pos {
		if slices.ContainsFunc(cs, func(c candidate) bool { return c.Node == p.Node }) {
			right = append(right, p.Node)
		}
	}
	return cs, right
}

// lexical ranks by shared words: each word of the task counts by its rarity among the candidates, long texts are held back. Lower is better.
func lexical(t task, a action, all []candidate) map[string]float64 {
	words := map[string]bool{}
	for _, w := range tokens(t.Goal) {
		words[w] = true
	}
	es := a.elements(all)
	said, often := make([][]string, len(es)), map[string]int{}
	for i, e := range es {
		said[i] = tokens(e.Text + " " + e.Desc)
		slices.Sort(said[i])
		said[i] = slices.Compact(said[i])
		for _, w := range said[i] {
			often[w]++
		}
	}
	out := map[string]float64{}
	for i, e := range es {
		s := 0.0
		for _, w := range said[i] {
			if words[w] {
				s += math.Log(1 + float64(len(es))/float64(often[w]))
			}
		}
		if slices.Contains([]string{"field", "select", "button", "link", "checkbox", "radio"}, e.Role) {
			s += 0.5
		}
		out[e.ID] = -s / (1 + 0.1*float64(len(said[i])))
	}
	return out
}

func tokens(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
