package agents

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Views specifies how much of a screen each agent sees.
type Views struct {
	Kind ViewKind `json:"kind"`
	// Common is the share of the elements that all agents see, from 0 to 1.
	Common float64 `json:"common"`
}

// ViewKind specifies how the elements of a screen are divided among the agents.
type ViewKind string

// Kinds of views.
const (
	FullViews ViewKind = "full" // all agents see all elements
	// RegionViews divides the screen by its layout into as many regions as there are agents (Regions). The seed of the
	// episode deals them.
	RegionViews ViewKind = "regions"
	// DropoutViews leaves each element out of an agent's view with probability 1/2, but never out of all views.
	DropoutViews ViewKind = "dropout"
)

// Divided reports whether agents see different elements.
func (v Views) Divided() bool { return v.Kind == RegionViews || v.Kind == DropoutViews }

// Deal returns the indices of the elements that each of n agents sees of a screen, in ascending order. It returns nil
// if all agents see the whole screen. Equal arguments yield equal views. seed is the seed of the episode, so an agent
// keeps its region as long as the layout stays.
func (v Views) Deal(screen domain.Observation, n int, seed uint64) [][]int {
	if !v.Divided() {
		return nil
	}
	shown := View{Observation: screen}.Shown()
	sees := dropout(domain.Rand(seed, "dropout"), n)
	if v.Kind == RegionViews {
		sees = regional(shown, domain.Rand(seed, "views").Perm(n))
	}
	dealt := make([][]int, n)
	for agent := range dealt {
		dealt[agent] = []int{}
	}
	rng := domain.Rand(seed, "common")
	for _, element := range shown {
		common := rng.Float64() < v.Common
		seen := sees(element)
		for agent := range dealt {
			if common || seen[agent] {
				dealt[agent] = append(dealt[agent], element.Index)
			}
		}
	}

	return dealt
}

// regional returns which agents see an element if the agents have regions, whose numbers regionOf holds by agent.
func regional(shown []domain.Element, regionOf []int) func(domain.Element) []bool {
	regions := map[int]int{} // the region of an element by its index
	for region, elements := range Regions(shown, len(regionOf)) {
		for _, element := range elements {
			regions[element.Index] = region
		}
	}

	return func(element domain.Element) []bool {
		sees := make([]bool, len(regionOf))
		for agent, region := range regionOf {
			sees[agent] = regions[element.Index] == region
		}

		return sees
	}
}

// dropout returns which of n agents see an element: each with probability 1/2, and at least one.
func dropout(rng *rand.Rand, n int) func(domain.Element) []bool {
	return func(domain.Element) []bool {
		sees := make([]bool, n)
		for agent := range sees {
			sees[agent] = rng.IntN(2) == 0
		}
		if !slices.Contains(sees, true) {
			sees[rng.IntN(n)] = true
		}

		return sees
	}
}

// Regions divides elements into n regions by their places on the screen. It cuts a group of elements in two where the
// gap between them is wide and both sides have many elements, as columns, panes and lists do, until there are n groups.
// Cuts that cross an element are the worse the more they cross. Regions are ordered by their first element; some are
// empty if there are fewer elements than regions.
func Regions(elements []domain.Element, n int) [][]domain.Element {
	if n == 1 {
		return [][]domain.Element{elements}
	}
	first, second := cut(elements, n)
	out := append(Regions(first, n/2), Regions(second, n-n/2)...)
	slices.SortStableFunc(out, func(a, b []domain.Element) int { return cmp.Compare(firstIndex(a), firstIndex(b)) })

	return out
}

// firstIndex returns the lowest index of a region. Empty regions come last.
func firstIndex(region []domain.Element) int {
	lowest := math.MaxInt
	for _, element := range region {
		lowest = min(lowest, element.Index)
	}

	return lowest
}

// cut divides elements, which are to become n regions, into a group for n/2 of them and a group for the rest.
func cut(elements []domain.Element, n int) (first, second []domain.Element) {
	best := 0.0
	share := float64(n/2) / float64(n)
	for axis := range 2 {
		sorted := slices.Clone(elements)
		slices.SortStableFunc(sorted, func(a, b domain.Element) int {
			return cmp.Compare(a.Bounds[axis], b.Bounds[axis])
		})
		end := 0 // of the elements so far
		for i := 1; i < len(sorted); i++ {
			previous := sorted[i-1].Bounds
			end = max(end, previous[axis]+previous[axis+2])
			gap := sorted[i].Bounds[axis] - end
			// A group is as large as its share of the regions where balance is 1.
			size := float64(i) / float64(len(sorted))
			balance := min(size/share, (1-size)/(1-share))
			score := balance / float64(1+max(0, -gap)) * float64(1+max(0, gap))
			if score > best {
				best = score
				first, second = sorted[:i], sorted[i:]
			}
		}
	}
	if best == 0 {
		return elements, nil
	}

	return first, second
}

// seenLine is the line of a prompt that states which elements of the screen the agent sees, and whether it may speak.
// It returns "" if the agent sees all and may not speak.
func (v View) seenLine(speech bool) string {
	text := "You see all elements"
	if v.Seen != nil {
		all := View{Observation: v.Observation}.Shown()
		text = fmt.Sprintf("You see elements %s of %d; other agents see the rest", ranges(v.Seen), len(all))
		if len(v.Seen) == 0 {
			text = fmt.Sprintf("You see none of %d elements; other agents see them", len(all))
		}
	}
	switch {
	case speech:
		return text + "; you may speak"
	case v.Seen == nil:
		return ""
	}

	return text
}

// ranges returns ascending numbers in words, such as "0, 8 to 15".
func ranges(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		text := strconv.Itoa(numbers[i])
		if last > i {
			text += " to " + strconv.Itoa(numbers[last])
		}
		out = append(out, text)
		i = last + 1
	}

	return strings.Join(out, ", ")
}
