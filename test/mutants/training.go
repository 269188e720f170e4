package mutants

// derivatives are the tests of the losses' derivatives.
var derivatives = by("internal/method/preference", "TestTheGradientOfEveryLossIsItsDerivative")

// resumed is the test of training that is killed anywhere.
var resumed = by("trainer/tiny", "TestAJobKilledAnywhereEndsWithTheBitsOfAnUnbrokenOne")

// training are bugs of losses, gradients, optimisers and checkpoints.
var training = []Mutant{
	{
		Name: "DPO has no reference", Symbol: "internal/method/preference.Rule.Pair",
		Change: replace(`logp[0]-ref[0]`, `logp[0]`),
		Find:   by("internal/method/preference", "TestAPairAtItsReferenceHasNoMargin"),
	},
	{
		Name: "DPO pushes the rejected answer up", Symbol: "internal/method/preference.Rule.Pair",
		Change: replace(`-dz * scale[1]`, `dz * scale[1]`), Find: derivatives,
	},
	{
		Name: "smoothing is forgotten in the gradient", Symbol: "internal/method/preference.Rule.Pair",
		Change: replace(`r.Smoothing - 1/(1+math.Exp(z))`, `-1/(1+math.Exp(z))`), Find: derivatives,
	},
	{
		Name: "IPO has another target", Symbol: "internal/method/preference.Rule.Pair",
		Change: replace(`1/(2*r.Beta)`, `1/r.Beta`),
		Find:   by("internal/method/preference", "TestIPOHasItsMinimumAtItsTarget"),
	},
	{
		Name: "GRPO does not clip", Symbol: "internal/method/preference.Gradient.Sample",
		Change: never(`bounded < gain`),
		Find:   by("internal/method/preference", "TestTheLossOfASampleIsClippedOnTheSideThatItPullsTo"),
	},
	{
		Name: "the divergence of GRPO pulls away", Symbol: "internal/method/preference.Gradient.Sample",
		Change: replace(`g.KL*(1-math.Exp(delta))`, `g.KL*(math.Exp(delta)-1)`),
		Find:   by("internal/method/preference", "TestTheDerivativeOfASampleIsThatOfItsLoss"),
	},
	{
		Name: "the weight of a pair scales its loss only", Symbol: "internal/policy/tinylm.Trainer.DPOStep",
		Change: replace(`w * d[1]`, `d[1]`),
		Find:   by("internal/policy/tinylm", "TestTheGradientOfAStepIsThatOfItsLoss"),
	},
	{
		Name: "the SFT term of DPO does not pull", Symbol: "internal/policy/tinylm.Trainer.DPOStep",
		Change: replace(`w * (d[0] - sft)`, `w * d[0]`),
		Find:   by("internal/policy/tinylm", "TestTheGradientOfAStepIsThatOfItsLoss"),
	},
	{
		Name: "a shard's gradient is lost", Symbol: "internal/policy/tinylm.Trainer.step",
		Change: replace(`t.shards[1:n]`, `t.shards[1:max(1, n-1)]`),
		Find:   by("internal/policy/tinylm", "TestTheGradientOfAStepIsThatOfItsLoss"),
	},
	{
		Name: "training depends on the number of threads", Symbol: "internal/policy/tinylm.Trainer.step",
		Change: replace(`addTo(sum, s.grad)`, `if t.Workers < 2 { addTo(sum, s.grad) }`),
		Find:   by("internal/policy/tinylm", "TestTrainingLearnsAndIsTheSameBitsForAnyNumberOfWorkers"),
	},
	{
		Name: "a checkpoint has no position of the optimiser", Symbol: "trainer/tiny.state.load",
		Change: replace(`s.model, s.opt, s.step, s.out.Curve = m, opt, c.Step, c.Curve`,
			`opt.T = 0; s.model, s.opt, s.step, s.out.Curve = m, opt, c.Step, c.Curve`),
		Find: resumed,
	},
	{
		Name: "a job that goes on repeats a step", Symbol: "trainer/tiny.state.load",
		Change: replace(`c.Step`, `c.Step - 1`), Find: resumed,
	},
	{
		Name: "every pass has the same order", Symbol: "trainer/tiny.Trainer.steps",
		Change: replace(`domain.Rand(s.job.Seed, "pass", pass)`, `domain.Rand(s.job.Seed, "pass", pass*0)`),
		Find:   by("trainer/tiny", "TestEveryPassHasItsOwnOrder"),
	},
	{
		Name: "a loss that is not a number goes on", Symbol: "trainer/tiny.Trainer.steps",
		Change: never(`math.IsNaN(pt.Loss+pt.Margin) || math.IsInf(pt.Loss+pt.Margin, 0)`),
		Find:   by("trainer/tiny", "TestALossThatIsNotANumberEndsTheJob"),
	},
	{
		Name: "training ends at its full rate", Symbol: "trainer/tiny.Rate",
		Change: replace(`p.FinalShare + (1-p.FinalShare)*0.5*(1+math.Cos(math.Pi*done))`, `(1 + 0*done)`),
		Find:   by("trainer/tiny", "TestTheLearningRateRisesAndFalls"),
	},
	{
		Name: "a policy with damaged parameters is read", Symbol: "internal/policy/tinylm.Decode",
		Change: never(`uint64(len(b)) != 8+n+uint64(4*len(m.Flat))`),
		Find:   by("internal/policy/tinylm", "TestCheckpointsRoundTripAndRefuseDamage"),
	},
}
