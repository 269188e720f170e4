package experiment

// Figures are further figures of a system, over all seeds.
type Figures struct {
	// FalseCompletes is the share of episodes, from 0 to 1, that the agents declared to be complete without success.
	FalseCompletes float64 `json:"false_completes"`
	// Pass is pass^k (Yao et al. 2024) for k = 1, 2 and 4: the probability that k episodes of a template are all
	// successes, estimated without bias for every seed and template, and averaged over templates with at least k
	// episodes. It ends before the first k for which no template has enough episodes.
	Pass []float64 `json:"pass"`
	// PassAt is pass@k for the same k: the probability that at least one of k episodes of a template is a success. With
	// c successes in n episodes, it is estimated without bias by 1 − C(n−c, k) / C(n, k) (Chen et al. 2021, equation
	// 1), and averaged as Pass is.
	PassAt []float64 `json:"pass_at,omitempty"`
	// Entropy is the entropy of the votes of a decision in nats: −Σ p·ln p over the actions that were voted for, where
	// p is an action's share of the votes. It is the mean over all decisions with votes, and nil without any.
	Entropy *float64 `json:"entropy,omitempty"`
}

// passes are the values of k in Figures.Pass.
var passes = [3]int{1, 2, 4}

// FiguresOf returns the figures of a system that played some episodes, by seed.
func FiguresOf(seeds [][]Episode) Figures {
	var figures Figures
	type cell struct {
		seed     int
		template string
	}
	counts := map[cell][2]int{}
	played := 0
	lied := 0
	decisions := 0
	entropy := 0.0
	var order []cell // sums of floats depend on the order
	for k, episodes := range seeds {
		for _, episode := range episodes {
			if episode.Missing {
				continue
			}
			played++
			decisions += episode.Decisions
			entropy += episode.Entropy
			if episode.False {
				lied++
			}
			at := cell{k, episode.Template}
			c, known := counts[at]
			if !known {
				order = append(order, at)
			}
			c[0]++
			if episode.Success == 1 {
				c[1]++
			}
			counts[at] = c
		}
	}

	figures.FalseCompletes = float64(lied) / float64(max(played, 1))
	if decisions > 0 {
		mean := entropy / float64(decisions)
		figures.Entropy = &mean
	}
	for _, k := range passes {
		all := 0.0
		some := 0.0
		n := 0
		for _, at := range order {
			if c := counts[at]; c[0] >= k {
				all = all + choose(c[1], k)/choose(c[0], k)
				some += 1 - choose(c[0]-c[1], k)/choose(c[0], k)
				n++
			}
		}
		if n == 0 {
			break
		}
		figures.Pass = append(figures.Pass, all/float64(n))
		figures.PassAt = append(figures.PassAt, some/float64(n))
	}

	return figures
}

// choose returns the binomial coefficient n over k, which is 0 if n < k.
func choose(n, k int) float64 {
	out := 1.0
	for i := range k {
		out *= float64(max(n-i, 0)) / float64(i+1)
	}

	return out
}
