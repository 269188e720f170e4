package tinylm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/preference"
)

// toyTask returns a one-step task: press the named button, or type the named word into the named field.
func toyTask(r *rand.Rand) (*Prompt, Choice) {
	word := func() string { return fmt.Sprintf("w%c%c%c", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26)) }
	names, n := []string{}, 4+r.IntN(5)
	for range n {
		names = append(names, word())
	}

	k, text := r.IntN(n), word()
	field := r.IntN(2) == 0
	s := "Goal: tap " + names[k] + "\n"
	if field {
		s = "Goal: type " + text + " into " + names[k] + "\n"
	}

	s += "History: none\nScreen:\n"
	for i, x := range names {
		role := "button"
		if field || r.IntN(3) == 0 {
			role = "field"
		}

		s += fmt.Sprintf("%d %s %s\n", i, role, x)
	}

	p := ParsePrompt(s)
	c := Choice{Kind: 0, Elem: p.Index[k].Pos, Start: -1, End: -1}
	if field {
		c.Kind = 1
		c.Start, c.End = p.findSpan(text)
	}

	return p, c
}

func TestAnswersRoundTripThroughTheGrammar(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		p, c := toyTask(r)
		got, err := p.Parse(p.Answer(c))
		if err != nil || got != c {
			t.Fatalf("Parse(%q) = %+v, %v, want %+v", p.Answer(c), got, err, c)
		}
	}

	p, _ := toyTask(r)
	for _, bad := range []string{
		"",
		"Action: {",
		`Action: {"action_type":"click","index":0}`,
		"Reason: this element serves the goal.\n" + `Action: {"action_type":"click","index":99}`,
	} {
		if _, err := p.Parse(bad); !errors.Is(err, ErrNotExpressible) {
			t.Errorf("Parse(%q) = %v, want ErrNotExpressible", bad, err)
		}
	}
}

func TestAnActionOfTheWebFamilyIsNotExpressible(t *testing.T) {
	for _, raw := range []string{
		`{"action":"click","element":"5"}`, `{"action":"none"}`, `{"action":"type_string","element":"5","text":"a"}`,
	} {
		a, err := domain.ParseAction([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Render(a); !errors.Is(err, ErrNotExpressible) {
			t.Errorf("Render(%s) = %q, %v, want ErrNotExpressible", raw, got, err)
		}
	}
}

func TestProbabilitiesOfAllAnswersSumToOne(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	p, _ := toyTask(r)
	m := New(DefaultConfig, 3)
	var all []Choice
	var walk func(c Choice)
	walk = func(c Choice) {
		st, ok := p.next(c)
		if !ok {
			all = append(all, c)
			return
		}

		for _, cand := range st.cands {
			d := c
			p.take(&d, st, cand)
			walk(d)
		}
	}

	walk(noChoice())
	seen, sum := map[string]bool{}, 0.0
	for _, c := range all {
		if seen[p.Answer(c)] {
			t.Fatalf("%q has two derivations, want one", p.Answer(c))
		}

		seen[p.Answer(c)] = true
		sum += math.Exp(m.LogProbs([]Example{{p, []Choice{c}}}, 1)[0][0])
	}

	if math.Abs(sum-1) > 1e-4 {
		t.Fatalf("the probabilities of %d answers sum to %v, want 1", len(all), sum)
	}
}

func TestGradientsAgreeWithFiniteDifferences(t *testing.T) {
	m, batch := asymmetricModel(3)
	coeff := []float64{-1, 0.7}
	loss := func() float64 {
		s := 0.0
		for _, lp := range m.LogProbs(batch, 1) {
			s += coeff[0]*lp[0] + coeff[1]*lp[1]
		}

		return s
	}

	s := &shard{grad: make([]float32, len(m.Flat))}
	s.a.keep = true
	s.v = bind(m.Cfg, m.Tensors, s.grad)
	s.run(m, m.transposeWeights(nil), batch, func(int, []float64) (float64, []float64) {
		return 0, append([]float64(nil), coeff...)
	})
	checkGradient(t, m, s.grad, loss, 0.03)
}

// asymmetricModel returns a model away from its symmetric start, and examples with a right and a wrong answer each.
func asymmetricModel(examples int) (*Model, []Example) {
	r := rand.New(rand.NewPCG(9, 10))
	m := New(DefaultConfig, 4)
	for i := range m.Flat {
		m.Flat[i] += float32(r.NormFloat64() * 0.05)
	}

	var batch []Example
	for range examples {
		p, c := toyTask(r)
		c2 := c
		at := slices.IndexFunc(p.Index, func(x Candidate) bool { return x.Pos == c.Elem })
		c2.Elem = p.Index[(at+1)%len(p.Index)].Pos
		batch = append(batch, Example{p, []Choice{c, c2}})
	}

	return m, batch
}

// checkGradient compares a gradient with finite differences of a loss, up to a relative tolerance.
func checkGradient(t *testing.T, m *Model, grad []float32, loss func() float64, tolerance float64) {
	t.Helper()
	for _, ts := range m.Tensors {
		n := ts.Rows * ts.Cols
		idx := make([]int, n)
		for i := range idx {
			idx[i] = ts.Off + i
		}

		slices.SortFunc(idx, func(a, b int) int {
			return cmp.Compare(math.Abs(float64(grad[b])), math.Abs(float64(grad[a])))
		})

		// Compare only the largest gradients of every tensor, because the error of float32 differences exceeds the
		// small ones.
		for _, i := range idx[:min(4, n)] {
			const eps = 2e-3
			old := m.Flat[i]
			m.Flat[i] = old + eps
			up := loss()
			m.Flat[i] = old - eps
			down := loss()
			m.Flat[i] = old
			num := (up - down) / (2 * eps)
			if math.Abs(num-float64(grad[i])) > 2e-3+tolerance*math.Abs(num) {
				t.Errorf("gradient of %s[%d] = %v, want %v by finite differences", ts.Name, i-ts.Off, grad[i], num)
			}
		}
	}
}

// TestTheGradientOfAStepIsThatOfItsLoss uses a batch of several shards, whose pairs differ in weight.
func TestTheGradientOfAStepIsThatOfItsLoss(t *testing.T) {
	m, batch := asymmetricModel(2*shardSize + 1)
	ref := m.LogProbs(batch, 1)
	weight := make([]float64, len(batch))
	for i := range ref {
		ref[i][0], ref[i][1] = ref[i][0]+0.3, ref[i][1]-0.2
		weight[i] = 0.5 + float64(i)/2
	}
	rule := preference.Rule{Beta: 0.5, Ftx: 0.3, Right: 0.7}
	for _, i := range []int{1, shardSize} { // right answers without a rejected one
		batch[i].Answers = batch[i].Answers[:1]
		ref[i] = ref[i][:1]
	}
	sum := func() (sum float64) {
		for i, lp := range m.LogProbs(batch, 1) {
			if len(lp) == 1 {
				sum -= weight[i] * rule.Right * lp[0]

				continue
			}
			tokens := preference.Answers{float64(batch[i].Answers[0].Made()), float64(batch[i].Answers[1].Made())}
			l, _, _ := rule.Pair(preference.Answers(lp), preference.Answers(ref[i]), tokens)
			sum += weight[i] * (l - rule.Ftx*lp[0]/tokens[0])
		}

		return sum
	}

	tr := &Trainer{M: m, Workers: 2}
	got, n := tr.DPOStep(batch, ref, weight, 0, rule), float64(len(batch)) // at a rate of 0, nothing changes
	if want := sum() / n; math.Abs(got.Loss-want) > 1e-6 {
		t.Errorf("the loss is %v, want %v", got.Loss, want)
	}
	margin := 0.0
	for i, lp := range m.LogProbs(batch, 1) {
		if len(lp) == 2 {
			margin += rule.Beta * (lp[0] - ref[i][0] - lp[1] + ref[i][1]) / (n - 2)
		}
	}
	if math.Abs(got.Margin-margin) > 1e-6 {
		t.Errorf("the margin is %v, want %v, the mean over the pairs alone", got.Margin, margin)
	}
	grad := slices.Clone(tr.shards[0].grad)
	for i := range grad {
		grad[i] *= float32(n)
	}
	checkGradient(t, m, grad, sum, 0.1)
}

func TestSamplingIsTheSameBitsWithAndWithoutCacheAndAgreesWithScoring(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	m := New(DefaultConfig, 5)
	warm := NewPolicy(m)
	for range 30 {
		p, _ := toyTask(r)
		s := Sampling{N: 3, Temperature: 1.5, TopP: 0.9, Seed: r.Uint64()}
		cold, _ := NewPolicy(m).Sample(p, s)
		longer := ParsePrompt(p.Text + "You said: " + cold[0].Text + "\n")
		warm.Sample(longer, s)
		again, used := warm.Sample(ParsePrompt(p.Text), s)
		if used.Cached < used.Prompt/2 {
			t.Fatalf("%+v were used, want at least half of the prompt from the cache", used)
		}

		for i := range cold {
			if cold[i].Text != again[i].Text || cold[i].LogProb != again[i].LogProb {
				t.Fatalf("with a cache %+v, want %+v as without", again[i], cold[i])
			}
			c, err := p.Parse(cold[i].Text)
			if err != nil {
				t.Fatal(err)
			}
			if lp := m.LogProbs([]Example{{p, []Choice{c}}}, 1)[0][0]; lp != cold[i].LogProb {
				t.Fatalf("scored %v, want %v as sampled", lp, cold[i].LogProb)
			}
		}
	}
}

func TestTrainingLearnsAndIsTheSameBitsForAnyNumberOfWorkers(t *testing.T) {
	train := func(workers, steps int) *Trainer {
		tr := &Trainer{M: New(DefaultConfig, 1), Workers: workers}
		r := rand.New(rand.NewPCG(1, 1))
		for i := range steps {
			var batch []Example
			for range 16 {
				p, c := toyTask(r)
				batch = append(batch, Example{p, []Choice{c}})
			}
			tr.SFTStep(batch, nil, 2e-3*min(1, float64(i+1)/30))
		}

		return tr
	}

	if a, b := train(1, 5), train(3, 5); !slices.Equal(a.M.Flat, b.M.Flat) {
		t.Fatal("weights differ between 1 and 3 workers, want the same bits")
	}

	m := train(2, 150).M
	r := rand.New(rand.NewPCG(77, 1))
	pol, right := NewPolicy(m), 0
	for range 100 {
		p, c := toyTask(r)
		if outs, _ := pol.Sample(p, Sampling{N: 1}); outs[0].Text == p.Answer(c) {
			right++
		}
	}

	t.Logf("%d of 100 toy tasks with unseen words", right)
	if right < 80 {
		t.Errorf("%d of 100 answers are right, want at least 80", right)
	}
}
