package experiment

import (
	"fmt"
	"maps"
	"slices"

	"github.com/collabui/collabui/internal/method/stats"
)

// Claim is a condition that a contrast must fulfil. It must hold for both intervals at 95 %, so that noise cannot
// fulfil it: an interval wider than the margin permits fails.
type Claim string

// Claims of contrasts, with their margins in points.
const (
	ClaimGain     Claim = "gain"      // the mean reaches the margin, and the whole interval is above 0
	ClaimNotWorse Claim = "not-worse" // a loss of the margin or more is excluded
	ClaimEqual    Claim = "equal"     // a difference of the margin or more is excluded, both ways (TOST at 2.5 % each)
	ClaimNoGain   Claim = "no-gain"   // a gain of the margin or more is excluded
)

// claim is the definition of a claim.
type claim struct {
	condition string // the condition in words, with the margin
	holds     func(r Row, margin float64) bool
}

var claims = map[Claim]claim{
	ClaimGain: {
		"gains at least %g points, lower bound above 0",
		func(r Row, m float64) bool { return r.Mean >= m && r.Low > 0 },
	},
	ClaimNotWorse: {"at least as good: lower bound above −%g", func(r Row, m float64) bool { return r.Low > -m }},
	ClaimEqual: {
		"equal: both bounds within ±%g", func(r Row, m float64) bool { return r.Low > -m && r.High < m },
	},
	ClaimNoGain: {"nothing is gained: upper bound below %g", func(r Row, m float64) bool { return r.High < m }},
}

// Claims returns the names of all claims, sorted.
func Claims() []Claim { return slices.Sorted(maps.Keys(claims)) }

// Episode is the outcome of a system in an episode of a seed.
type Episode struct {
	Template string
	Success  float64 // 0 or 1, or the share of right steps of a recorded task
	False    bool    // it ended without success before the limit of steps
	Missing  bool

	Decisions int     // decisions with votes
	Entropy   float64 // sum over them of the entropy of the votes, in nats
}

// Row is a tested contrast. Differences are in points.
type Row struct {
	Contrast
	OfRate    float64   `json:"of_rate"` // mean rates over seeds, in percent
	MinusRate float64   `json:"minus_rate"`
	Seeds     []float64 `json:"seeds"` // differences by seed
	Mean      float64   `json:"mean"`
	Low       float64   `json:"low"` // of Student's t over seeds
	High      float64   `json:"high"`
	WideLow   float64   `json:"wide_low"` // if templates were drawn, too: clusters are seeds and templates
	WideHigh  float64   `json:"wide_high"`
	P         float64   `json:"p"`     // of Student's t
	Adjusted  float64   `json:"p_adj"` // for the number of contrasts; for the primary one, P itself
	Needs     string    `json:"needs,omitempty"`
	Holds     bool      `json:"holds"` // also true where nothing is claimed

	// Missing is the number of pairs of episodes of which one or both are missing. None of the figures above include
	// them. Worst and Best are the values of Mean if all missing episodes had gone against it, or for it. A claim must
	// hold at the worst.
	Missing int     `json:"missing,omitempty"`
	Worst   float64 `json:"worst,omitempty"`
	Best    float64 `json:"best,omitempty"`

	// Repeated is true if neither system depends on a run, such as two agents of one chat model, so that seeds repeat
	// the same systems on the same tasks. Both intervals are then the one over seeds and templates, or everything if
	// there is one template; nothing is tested, and both p are 1.
	Repeated bool `json:"repeated,omitempty"`

	Version int  `json:"version"`        // the first version of the declaration with this contrast and as many seeds
	Late    bool `json:"late,omitempty"` // that version was declared when results were known
}

// Episodes returns the episodes of a system, by seed and then in order.
type Episodes func(p Play) [][]Episode

// Test tests all contrasts.
func (x Experiment) Test(episodes Episodes) []Row {
	rows := make([]Row, len(x.Contrasts))
	var p []float64
	for i, contrast := range x.Contrasts {
		rows[i] = test(contrast, episodes)
		if rows[i].tested() {
			p = append(p, rows[i].P)
		}
	}
	adjusted := stats.Holm(p)
	for i := range rows {
		rows[i].Adjusted = rows[i].P
		if rows[i].tested() {
			rows[i].Adjusted = adjusted[0]
			adjusted = adjusted[1:]
		}
	}

	return rows
}

// tested reports whether the p-value is one of those that are adjusted for their number.
func (r Row) tested() bool { return !r.Primary && !r.Repeated }

// test tests one contrast on the episodes that both systems played. A seed without such episodes is left out.
func test(contrast Contrast, episodes Episodes) Row {
	row := Row{Contrast: contrast, Holds: true}
	one, two := contrast.sides()
	of := episodes(one)
	minus := episodes(two)
	templates := inBoth(of, minus)
	var cells [][][]float64
	for k := range of {
		a := 0.0
		b := 0.0
		count := 0.0
		cell := make([][]float64, len(templates))
		worst := 0.0
		best := 0.0
		for i, episode := range of[k] {
			f := minus[k][i]
			worst = worst + episode.least() - f.most()
			best = best + episode.most() - f.least()
			if episode.Missing || f.Missing {
				row.Missing++
				continue
			}
			a += episode.Success
			b += f.Success
			count++
			at, _ := slices.BinarySearch(templates, episode.Template)
			cell[at] = append(cell[at], 100*(episode.Success-f.Success))
		}
		all := float64(max(len(of[k]), 1) * len(of))
		row.Worst = row.Worst + 100*worst/all
		row.Best = row.Best + 100*best/all
		if count == 0 {
			continue
		}
		cells = append(cells, cell)
		row.Seeds = append(row.Seeds, 100*(a-b)/count)
		row.OfRate = row.OfRate + 100*a/count
		row.MinusRate = row.MinusRate + 100*b/count
	}
	counted := float64(max(len(row.Seeds), 1))
	row.OfRate = row.OfRate / counted
	row.MinusRate = row.MinusRate / counted
	if row.Missing == 0 {
		row.Worst = 0
		row.Best = 0
	}
	row.Mean = stats.Mean(row.Seeds)
	row.Low = -100
	row.High = 100
	row.P = 1
	row.Repeated = len(of) > 1 && !one.Kind.Policies() && !two.Kind.Policies()
	if !row.Repeated && len(cells) > 1 {
		_, row.Low, row.High = stats.TInterval(row.Seeds)
		row.P = stats.TTest(row.Seeds)
	}
	row.WideLow = row.Low
	row.WideHigh = row.High
	if len(templates) > 1 && len(cells) > 1 { // one template, or one seed, is no sample of others
		_, row.WideLow, row.WideHigh = stats.TwoWay(cells)
	}
	if row.Repeated {
		row.Low = row.WideLow
		row.High = row.WideHigh
	}
	if form, ok := claims[contrast.Claim]; ok {
		row.Needs = fmt.Sprintf(form.condition, contrast.Margin)
		row.Holds = form.holds(row.atWorst(), contrast.Margin)
	}

	return row
}

// least and most are the bounds of an episode's success: a missing episode may have been either.
func (e Episode) least() float64 {
	if e.Missing {
		return 0
	}

	return e.Success
}

func (e Episode) most() float64 {
	if e.Missing {
		return 1
	}

	return e.Success
}

// inBoth returns the templates of the episodes that both systems played, sorted.
func inBoth(of, minus [][]Episode) (templates []string) {
	for k := range of {
		for i, episode := range of[k] {
			if !episode.Missing && !minus[k][i].Missing && !slices.Contains(templates, episode.Template) {
				templates = append(templates, episode.Template)
			}
		}
	}
	slices.Sort(templates)

	return templates
}

// atWorst returns the row with one interval that covers both, and with missing episodes at their worst and best.
func (r Row) atWorst() Row {
	r.Low = min(r.Low, r.WideLow)
	r.High = max(r.High, r.WideHigh)
	if r.Missing > 0 {
		r.Low = r.Low + min(0, r.Worst-r.Mean)
		r.High = r.High + max(0, r.Best-r.Mean)
		r.Mean = min(r.Mean, r.Worst)
	}

	return r
}

// Verdict returns the claim and whether it holds, or "" if nothing is claimed.
func (r Row) Verdict() string {
	switch {
	case r.Needs == "":
		return ""
	case r.Holds:
		return "holds: " + r.Needs
	}

	return "FAILS: " + r.Needs
}

// Power returns the probability that the interval of a contrast excludes 0 in the expected direction. ok is false if
// the contrast specifies no expected difference.
func (x Experiment) Power(contrast Contrast) (float64, bool) {
	if contrast.Spread == 0 || contrast.Expected == 0 {
		return 0, false
	}

	return stats.Power(max(contrast.Expected, -contrast.Expected), contrast.Spread, x.Seeds), true
}
