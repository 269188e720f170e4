package tinylm

import (
	"fmt"
	"syscall"
)

// Measure runs fixed amounts of work for benchmarks and counts their arithmetic. It counts the products of matrices
// only, so it understates the share of the peak.
type Measure struct {
	batch   []Example
	prompts []*Prompt
	trainer *Trainer
	tokens  int
	flops   float64 // operations of a forward pass over batch
}

// NewMeasure returns a measure with prompts of the usual size.
func NewMeasure() *Measure {
	m := &Measure{trainer: &Trainer{M: New(DefaultConfig, 1), Workers: 1}}
	for i := range 16 {
		text := fmt.Sprintf("Goal: In Settings open Display and turn on Option%d\n", i) +
			"History:\n1 click item Display\n2 scroll down\nScreen:\n"
		for k := range 14 {
			text += fmt.Sprintf("%d switch Option%d off\n", k, k+i)
		}

		text += "You said: " + Kinds[0].head() + ",\"index\":3}\n"
		text += "Agent 1 said, maybe wrong: " + Kinds[0].head() + ",\"index\":5}\n"

		p := ParsePrompt(text)
		m.prompts = append(m.prompts, p)
		m.batch = append(m.batch, Example{p, []Choice{{Kind: 0, Elem: p.Index[3].Pos, Start: -1, End: -1}}})
		n := len(p.Tokens) + 2
		m.tokens += n
		m.flops += forwardFlops(DefaultConfig, n)
	}

	return m
}

// forwardFlops counts the operations of a pass over n tokens: two per product. Of attention it counts only what a
// causal mask leaves.
func forwardFlops(c Config, n int) float64 {
	perToken := c.Layers * (c.Dim*3*c.Dim + c.Dim*c.Dim + 2*c.Dim*c.FF)
	return 2*float64(perToken)*float64(n) + 2*float64(c.Layers*2*c.Dim)*float64(n)*float64(n+1)/2
}

// cpuSeconds returns the CPU time of this process, so other processes do not disturb the figures.
func cpuSeconds() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // cannot fail for RUSAGE_SELF
	}

	sec := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

	return sec(r.Utime) + sec(r.Stime)
}

// measureSteps is the number of repetitions that are measured.
const measureSteps = 6

// Train returns the GFLOP/s of SFT steps. A backward pass counts as two forward passes.
func (m *Measure) Train() float64 {
	m.trainer.SFTStep(m.batch, nil, 1e-6) // fills caches
	t := cpuSeconds()
	for range measureSteps {
		m.trainer.SFTStep(m.batch, nil, 1e-6)
	}

	return measureSteps * 3 * m.flops / (cpuSeconds() - t) / 1e9
}

// TrainTokens converts GFLOP/s of Train into tokens per second.
func (m *Measure) TrainTokens(gflops float64) float64 {
	return gflops * 1e9 / (3 * m.flops) * float64(m.tokens)
}

// Sample returns the GFLOP/s of answers to every prompt without a prefix cache.
func (m *Measure) Sample() float64 {
	pol := NewPolicy(m.trainer.M)
	run := func() {
		for _, p := range m.prompts {
			pol.cache = pol.cache[:0]
			pol.Sample(p, Sampling{N: 1, Temperature: 1, TopP: 1, Seed: 1})
		}
	}

	run()
	t := cpuSeconds()
	for range measureSteps {
		run()
	}

	return measureSteps * m.flops / (cpuSeconds() - t) / 1e9
}

// SampleTokens converts GFLOP/s of Sample into tokens per second.
func (m *Measure) SampleTokens(gflops float64) float64 {
	return gflops * 1e9 / m.flops * float64(m.tokens)
}

// Peak returns the GFLOP/s of a loop of independent fused multiply-adds of 8 lanes on one core. It is 0 if the kernel
// in use has no vectors.
func (m *Measure) Peak() float64 {
	const rounds, chains, lanes = 20_000_000, 12, 8
	t := cpuSeconds()
	if !peakLoop(rounds) {
		return 0
	}

	return rounds * chains * 2 * lanes / (cpuSeconds() - t) / 1e9
}
