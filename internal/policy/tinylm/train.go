package tinylm

import (
	"golang.org/x/sync/errgroup"
)

// Example is a prompt with one answer (SFT) or two (DPO: chosen, then rejected), which share the pass over the prompt.
type Example struct {
	Prompt  *Prompt
	Answers []Choice
}

// decision is one choice of an answer, which is made at a row of the sequence.
type decision struct {
	row    int
	st     step
	pick   int
	answer int
	work   headWork
}

// tokens returns the example as one sequence, with its decisions. The log-probabilities of an answer's decisions add up
// to the answer's log-probability.
func (e Example) tokens() ([]Token, []decision) {
	toks := append(make([]Token, 0, len(e.Prompt.Tokens)+8*len(e.Answers)), e.Prompt.Tokens...)
	var ds []decision
	for i, want := range e.Answers {
		choice := noChoice()
		token := e.Prompt.answerToken()
		for {
			token.Branch = uint8(i + 1)
			toks = append(toks, token)
			st, ok := e.Prompt.next(choice)
			if !ok {
				toks = toks[:len(toks)-1] // nothing is decided after the last choice
				break
			}
			ds = append(ds, decision{row: len(toks) - 1, st: st, pick: want.pick(st.head), answer: i})
			token = e.Prompt.take(&choice, st, want.pick(st.head))
		}
	}

	return toks, ds
}

// Trainer computes gradients of a model and applies AdamW. It splits a batch into shards of fixed size and adds their
// gradients in order, so the result has the same bits for any number of workers.
type Trainer struct {
	M       *Model
	Opt     Adam
	Workers int // number of goroutines; below 1 means 1

	shards []*shard
	wt     transposed
}

// shardSize is the number of examples per shard. It is part of the arithmetic: another size leads to other bits.
const shardSize = 4

// shard is the workspace for a part of a batch.
type shard struct {
	a    acts
	w    gradWork
	grad []float32
	v    view
	loss float64
	logp [][]float64

	seqs []*seq    // reused from step to step
	dhid []float32 // dL/d(hidden states)
}

// coefficients maps the log-probabilities of an example's answers to the example's loss and to dL/dlogp of every
// answer.
type coefficients func(example int, logp []float64) (loss float64, dlogp []float64)

// step makes an optimiser step on a batch and returns the mean loss before the step.
func (t *Trainer) step(batch []Example, lr float64, coeff coefficients) float64 {
	n := (len(batch) + shardSize - 1) / shardSize
	for len(t.shards) < n {
		s := &shard{grad: make([]float32, len(t.M.Flat))}
		s.a.keep = true
		s.v = bind(t.M.Cfg, t.M.Tensors, s.grad)
		t.shards = append(t.shards, s)
	}

	t.wt = t.M.transposeWeights(t.wt)
	t.parallel(n, func(i int) {
		lo := i * shardSize
		hi := min((i+1)*shardSize, len(batch))
		t.shards[i].run(t.M, t.wt, batch[lo:hi], func(j int, lp []float64) (float64, []float64) {
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

// parallel calls f with 0 to n−1 on as many goroutines as there are workers.
func (t *Trainer) parallel(n int, f func(int)) {
	var group errgroup.Group
	group.SetLimit(max(1, t.Workers))
	for i := range n {
		group.Go(func() error {
			f(i)

			return nil
		})
	}

	_ = group.Wait() // f does not fail
}

// run computes the loss and the gradient of a part of a batch into s.loss and s.grad.
func (s *shard) run(model *Model, wt transposed, batch []Example, coeff coefficients) {
	clear(s.grad)
	seqs, ds := s.forward(model, batch)
	d := model.Cfg.Dim
	s.dhid = grow(s.dhid, s.a.rows*d)
	clear(s.dhid)
	s.loss = 0
	base := 0
	for i := range batch {
		loss, dl := coeff(i, s.logp[i])
		s.loss += loss
		own := s.dhid[base*d:]
		for k := range ds[i] {
			x := &ds[i][k]
			model.headBack(x, s.v, seqs[i].hid, own, dl[x.answer])
		}

		base += len(seqs[i].toks)
	}

	model.backward(&s.a, &s.w, wt, s.v, seqs, s.dhid)
}

// forward computes the log-probabilities of every example's answers into s.logp. It returns the sequences and the
// decisions of the examples.
func (s *shard) forward(model *Model, batch []Example) ([]*seq, [][]decision) {
	s.seqs = append(s.seqs, make([]*seq, max(0, len(batch)-len(s.seqs)))...)
	seqs := s.seqs[:len(batch)]
	add := make([][]Token, len(batch))
	ds := make([][]decision, len(batch))
	for i, example := range batch {
		add[i], ds[i] = example.tokens()
		seqs[i] = model.reuseSeq(seqs[i], len(add[i]))
	}

	model.extend(&s.a, seqs, add)
	s.logp = make([][]float64, len(batch))
	d := model.Cfg.Dim
	for i := range batch {
		s.logp[i] = make([]float64, len(batch[i].Answers))
		for k := range ds[i] {
			x := &ds[i][k]
			model.evaluate(&x.work, seqs[i].hid[x.row*d:(x.row+1)*d], seqs[i].hid, x.st)
			for j, cand := range x.st.cands {
				if cand == x.pick {
					s.logp[i][x.answer] += x.work.logp[j]
				}
			}
		}
	}

	return seqs, ds
}

// LogProbs returns log π(answer | prompt), in nats, of every answer of every example. It reads each prompt once.
func (m *Model) LogProbs(batch []Example, workers int) [][]float64 {
	out := make([][]float64, len(batch))
	trainer := Trainer{M: m, Workers: workers}
	n := (len(batch) + shardSize - 1) / shardSize
	trainer.parallel(n, func(i int) {
		var s shard
		lo := i * shardSize
		hi := min((i+1)*shardSize, len(batch))
		s.forward(m, batch[lo:hi])
		copy(out[lo:], s.logp)
	})

	return out
}

// SFTStep makes a step on the loss of supervised fine-tuning, L = −mean w·log π(y|x), where y is the first answer of
// every example (docs/method.md). If weight is nil, all weights are 1. It returns L before the step.
func (t *Trainer) SFTStep(batch []Example, weight []float64, lr float64) float64 {
	return t.step(batch, lr, func(i int, lp []float64) (float64, []float64) {
		w := 1.0
		dl := make([]float64, len(lp))
		if weight != nil {
			w = weight[i]
		}

		dl[0] = -w
		return -w * lp[0], dl
	})
}
