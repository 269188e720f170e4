package spec

// Synthesis configures the data of the levels, which is made from the screens that the UI agent visits
// (docs/method.md).
type Synthesis struct {
	Agent  Role `json:"agent"`  // plays training tasks: RoleExpert or a model
	Author Role `json:"author"` // writes questions and instructions: RoleTemplate or a model
	// Screens is the maximum number of screens that are written about. They are drawn by seed.
	Screens int `json:"screens"`
	// KeepFirst is the share of episodes' first screens that is kept, from 0 to 1, because first screens repeat.
	KeepFirst    float64 `json:"keep_first"`
	Questions    int     `json:"questions"`    // per screen, level 1
	Instructions int     `json:"instructions"` // per screen, level 2
	// Pairs is the maximum number of steps of successful episodes that level 3 pairs. They are drawn by seed.
	Pairs int `json:"pairs"`
	// Screenshots keeps a screenshot of every screen and shows it to models that accept images.
	Screenshots bool `json:"screenshots"`
}

func defaultSynthesis() Synthesis {
	return Synthesis{
		Agent:        RoleExpert,
		Author:       RoleTemplate,
		Screens:      400,
		KeepFirst:    0.2,
		Questions:    6,
		Instructions: 6,
		Pairs:        4000,
	}
}

func (y Synthesis) check(must Must) {
	must.count(y.Screens, "synthesis.screens", 1, 100000)
	must.within(y.KeepFirst, "synthesis.keep_first", 0, 1)
	must.count(y.Pairs, "synthesis.pairs", 1, 1000000)
	must.count(y.Questions, "synthesis.questions", 1, 100)
	must.count(y.Instructions, "synthesis.instructions", 1, 100)
}
