package tinylm

import (
	"math"
	"sync"
)

// Example is one prompt with one answer (SFT) or two (DPO: chosen, then rejected), which share the prompt's pass.
type Example struct {
	Prompt  *Prompt
	Answers []Choice
}

// decision is one choice of an answer: made at a row of the sequence.
type decision struct {
	row    int
	st     step
	pick   int
	answer int
	work   headWork
}

// tokens lays an example out as one sequence, with the decisions whose log-probabilities add up to each answer's.
func (e Example) tokens() ([]Token, []decision) {
	toks := append(make([]Token, 0, len(e.Prompt.Tokens)+8*len(e.Answers)), e.Prompt.Tokens...)
	var ds []decision
	for i, want := range e.Answers {
		c := noChoice()
		t := e.Prompt.answerToken()
		for {
			t.Branch = uint8(i + 1)
			toks = append(toks, t)
			st, ok := e.Prompt.next(c)
			if !ok {
				toks = toks[:len(toks)-1] // nothing is decided behind the last choice
				break
			}
			ds = append(ds, decision{row: len(toks) - 1, st: st, pick: want.pick(st.head), answer: i})
			t = e.Prompt.take(&c, st, want.pick(st.head))
		}
	}
	return toks, ds
}

// Trainer computes gradients of a model and applies AdamW. Results are the same bits for every number of workers, because a batch is cut into
// shards of fixed size whose gradients are added in order.
type Trainer struct {
	M       *Model
	Opt     Adam
	Workers int
	shards  []*shard
}

// shardSize is the number of examples per shard; part of the arithmetic, not a tuning knob.
const shardSize = 4

type shard struct {
	a    acts
	w    gradWork
	grad []float32
	v    view
	loss float64
	logp [][]float64
}

// coefficients maps the log-probabilities of an example's answers to its loss and to dL/dlogp of each answer.
type coefficients func(example int, logp []float64) (loss float64, dlogp []float64)

// step does one optimiser step on a batch and returns the mean loss.
func (t *Trainer) step(batch []Example, lr float64, coeff coefficients) float64 {
	n := (len(batch) + shardSize - 1) / shardSize
	for len(t.shards) < n {
		s := &shard{grad: make([]float32, len(t.M.Flat))}
		s.a.keep = true
		s.v = bind(t.M.Cfg, t.M.Tensors, s.grad)
		t.shards = append(t.shards, s)
	}
	t.parallel(n, func(i int) {
		lo, hi := i*shardSize, min((i+1)*shardSize, len(batch))
		t.shards[i].run(t.M, batch[lo:hi], func(j int, lp []float64) (float64, []float64) {
			loss, dl := coeff(lo+j, lp)
			for k := range dl {
				dl[k] /= float64(len(batch))
			}
			return loss / float64(len(batch)), dl
		})
	})
	sum := t.shards[0].grad
	loss := t.shards[0].loss
	for _, s := range t.shards[1:n] {
		addTo(sum, s.grad)
		loss += s.loss
	}
	t.Opt.step(t.M.Flat, sum, lr)
	return loss
}

func (t *Trainer) parallel(n int, f func(int)) {
	workers := max(1, min(t.Workers, n))
	var wg sync.WaitGroup
	for w := 0; w < workers; w++ {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

func (s *shard) run(m *Model, batch []Example, coeff coefficients) {
	clear(s.grad)
	m.transposeWeights(&s.w)
	seqs, ds := s.forward(m, batch)
	d := m.Cfg.Dim
	dhid := make([]float32, s.a.rows*d)
	s.loss = 0
	base := 0
	for i := range batch {
		loss, dl := coeff(i, s.logp[i])
		s.loss += loss
		own := dhid[base*d:]
		for k := range ds[i] {
			x := &ds[i][k]
			h := seqs[i].hid[x.row*d : (x.row+1)*d]
			m.back(&x.work, s.v, h, own[x.row*d:(x.row+1)*d], own, x.st, x.pick, dl[x.answer])
		}
		base += len(seqs[i].toks)
	}
	m.backward(&s.a, &s.w, s.v, seqs, dhid)
}

// forward fills s.logp: per example, the log-probability of every answer.
func (s *shard) forward(m *Model, batch []Example) ([]*seq, [][]decision) {
	seqs, add, ds := make([]*seq, len(batch)), make([][]Token, len(batch)), make([][]decision, len(batch))
	for i, e := range batch {
		add[i], ds[i] = e.tokens()
		seqs[i] = m.newSeq(len(add[i]))
	}
	m.extend(&s.a, seqs, add)
	s.logp = make([][]float64, len(batch))
	d := m.Cfg.Dim
	for i := range batch {
		s.logp[i] = make([]float64, len(batch[i].Answers))
		for k := range ds[i] {
			x := &ds[i][k]
			m.evaluate(&x.work, seqs[i].hid[x.row*d:(x.row+1)*d], seqs[i].hid, x.st)
			for j, cand := range x.st.cands {
				if cand == x.pick {
					s.logp[i][x.answer] += x.work.logp[j]
				}
			}
		}
	}
	return seqs, ds
}

// LogProbs gives log π(answer | prompt) for every answer of every example. Each prompt is read once.
func (m *Model) LogProbs(batch []Example, workers int) [][]float64 {
	out := make([][]float64, len(batch))
	t := Trainer{M: m, Workers: workers}
	n := (len(batch) + shardSize - 1) / shardSize
	t.parallel(n, func(i int) {
		var s shard
		lo, hi := i*shardSize, min((i+1)*shardSize, len(batch))
		s.forward(m, batch[lo:hi])
		copy(out[lo:], s.logp)
	})
	return out
}

// SFTStep raises the log-probability of the first answer of every example: L = −mean w·log π(y|x); nil weights are all 1. It returns L before the step.
func (t *Trainer) SFTStep(batch []Example, weight []float64, lr float64) float64 {
	return t.step(batch, lr, func(i int, lp []float64) (float64, []float64) {
		w, dl := 1.0, make([]float64, len(lp))
		if weight != nil {
			w = weight[i]
		}
		dl[0] = -w
		return -w * lp[0], dl
	})
}

// DPO are the hyper-parameters of METHOD.md section 4: L = −log σ(β·(Δ⁺ − Δ⁻)) + ftx · (−log π(y⁺|x)), Δ = log π − log π_ref.
type DPO struct {
	Beta float64 // > 0
	Ftx  float64 // >= 0, weight of the SFT term on the chosen answer
}

// DPOStats are means over a batch before its step.
type DPOStats struct {
	Loss, Margin, Accuracy, LogpChosen float64
}

// DPOStep does one step; ref[i] holds log π_ref of the two answers of batch[i], weight[i] scales its loss (1 for plain means).
func (t *Trainer) DPOStep(batch []Example, ref [][]float64, weight []float64, lr float64, h DPO) DPOStats {
	per := make([]DPOStats, len(batch))
	loss := t.step(batch, lr, func(i int, lp []float64) (float64, []float64) {
		z := h.Beta * ((lp[0] - ref[i][0]) - (lp[1] - ref[i][1]))
		sig := 1 / (1 + math.Exp(z)) // σ(−z)
		per[i] = DPOStats{Margin: z, LogpChosen: lp[0]}
		if z > 0 {
			per[i].Accuracy = 1
		}
		w := weight[i]
		return w * (math.Log1p(math.Exp(-z)) - h.Ftx*lp[0]), []float64{w * (-h.Beta*sig - h.Ftx), w * h.Beta * sig}
	})
	s := DPOStats{Loss: loss}
	for _, p := range per {
		s.Margin += p.Margin / float64(len(batch))
		s.Accuracy += p.Accuracy / float64(len(batch))
		s.LogpChosen += p.LogpChosen / float64(len(batch))
	}
	return s
}
