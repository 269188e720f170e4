package tinylm

import (
	"math"
	"math/rand/v2"
	"sort"
	"sync"
)

// Sampling specifies how N answers are sampled. Temperature 0 is greedy and takes the first of equal candidates. TopP
// in (0,1] keeps the smallest set of candidates whose total probability reaches it (Holtzman et al., "The Curious Case
// of Neural Text Degeneration", 2020).
type Sampling struct {
	N                 int
	Temperature, TopP float64
	Seed              uint64
}

// Output is an answer with its log-probability, in nats, under the policy at temperature 1, regardless of the sampling.
type Output struct {
	Text    string
	LogProb float64
	Steps   []StepProb
}

// StepProb is a choice of the grammar with its share of the answer's log-probability.
type StepProb struct {
	Text    string
	LogProb float64
}

// Policy is a model with a prefix cache. It is safe for concurrent use.
type Policy struct {
	Model *Model
	mu    sync.Mutex
	cache []*seq // newest last; entries are not changed after they have been added
	pool  sync.Pool
}

// Counts holds the numbers of tokens of a request. A token of an answer is one choice of the grammar.
type Counts struct {
	Prompt int
	Cached int // tokens of the prompt that came from the cache
	Answer int
}

// cacheEntries bounds the prefix cache. It suffices for the prompts of the decisions in flight.
const cacheEntries = 16

// NewPolicy returns a policy with an empty cache.
func NewPolicy(model *Model) *Policy {
	return &Policy{Model: model, pool: sync.Pool{New: func() any { return new(acts) }}}
}

// lookup returns the cached sequence that shares the longest prefix with toks, and the length of that prefix. If no
// sequence shares a prefix, it returns nil and 0.
func (p *Policy) lookup(toks []Token) (*seq, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *seq
	n := 0
	for i := len(p.cache) - 1; i >= 0; i-- {
		s := p.cache[i]
		k := 0
		for k < len(s.toks) && k < len(toks) && s.toks[k] == toks[k] {
			k++
		}

		if k > n {
			best = s
			n = k
		}
	}

	return best, n
}

// remember adds a sequence to the cache. If the cache is full, it drops the oldest one.
func (p *Policy) remember(s *seq) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cache = append(p.cache, s)
	if len(p.cache) > cacheEntries {
		p.cache = append(p.cache[:0], p.cache[1:]...)
	}
}

// answerTokens is the maximum number of an answer's tokens that the model reads.
const answerTokens = 4

// Sample samples answers to a prompt. The same prompt, sampling and parameters yield the same answers, bit for bit,
// regardless of the cache and of concurrent calls.
func (p *Policy) Sample(pr *Prompt, sampling Sampling) ([]Output, Counts) {
	a := p.pool.Get().(*acts)
	defer p.pool.Put(a)
	toks := append(append(make([]Token, 0, len(pr.Tokens)+1), pr.Tokens...), pr.answerToken())
	base, cached := p.lookup(toks)
	cached = min(cached, len(toks)-1)
	var prompt *seq
	if room := len(toks) + answerTokens; cached > 0 {
		prompt = p.Model.fork(base, cached, room-cached)
	} else {
		prompt = p.Model.newSeq(room)
	}

	p.Model.extend(a, []*seq{prompt}, [][]Token{toks[cached:]})

	n := max(sampling.N, 1)
	outs := make([]Output, n)
	var work headWork
	d := p.Model.Cfg.Dim
	written := 0
	for i := range outs {
		rng := rand.New(rand.NewPCG(sampling.Seed, uint64(i)+1))
		choice := noChoice()
		prompt.toks = prompt.toks[:len(toks)] // overwrite the previous answer
		for {
			st, ok := pr.next(choice)
			if !ok {
				break
			}
			last := len(prompt.toks) - 1
			p.Model.evaluate(&work, prompt.hid[last*d:(last+1)*d], prompt.hid, st)
			k := draw(work.logp, sampling, rng)
			outs[i].LogProb += work.logp[k]
			outs[i].Steps = append(outs[i].Steps, StepProb{pr.stepText(st, st.cands[k]), work.logp[k]})
			token := pr.take(&choice, st, st.cands[k])
			written++
			if _, more := pr.next(choice); !more {
				break
			}
			p.Model.extend(a, []*seq{prompt}, [][]Token{{token}})
		}

		outs[i].Text = pr.Answer(choice)
	}

	prompt.toks = prompt.toks[:len(toks)]
	p.remember(prompt)

	return outs, Counts{Prompt: len(toks), Cached: cached, Answer: written}
}

// stepText returns the text that a candidate of a step adds to the answer.
func (p *Prompt) stepText(st step, cand int) string {
	switch st.head {
	case headKind:
		return ActionKinds[cand].head()
	case headElem:
		at := p.indexToken(cand)

		return p.surface(at, at)
	}

	return p.surface(cand, cand)
}

// draw draws a candidate according to the log-probabilities of all candidates, and returns its index.
func draw(logp []float64, sampling Sampling, rng *rand.Rand) int {
	best := 0
	for i, v := range logp {
		if v > logp[best] {
			best = i
		}
	}

	u := rng.Float64() // always drawn, so the stream does not depend on the temperature
	if sampling.Temperature <= 1e-6 {
		return best
	}

	order := make([]int, len(logp))
	weight := make([]float64, len(logp))
	var sum float64
	for i, v := range logp {
		order[i] = i
		weight[i] = math.Exp((v - logp[best]) / sampling.Temperature)
		sum += weight[i]
	}

	sort.SliceStable(order, func(a, b int) bool { return weight[order[a]] > weight[order[b]] })
	keep := 0
	mass := 0.0
	for keep < len(order) {
		mass += weight[order[keep]]
		keep++
		if sampling.TopP > 0 && sampling.TopP < 1 && mass >= sampling.TopP*sum {
			break
		}
	}

	u *= mass
	for _, i := range order[:keep] {
		if u -= weight[i]; u <= 0 {
			return i
		}
	}

	return order[keep-1]
}
