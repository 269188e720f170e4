package tinylm

import (
	"fmt"
	"syscall"
)

// Measure runs fixed amounts of work for benchmarks and counts their arithmetic: the products of matrices only, so a share of the peak is understated.
type Measure struct {
	batch   []Example
	prompts []*Prompt
	trainer *Trainer
	tokens  int
	flops   float64 // of one forward pass over batch
}

// NewMeasure prepares prompts of the usual size.
func NewMeasure() *Measure {
	m := &Measure{trainer: &Trainer{M: New(DefaultConfig, 1), Workers: 1}}
	for i := range 16 {
		text := fmt.Sprintf("Goal: In Settings open Display and turn on Option%d\nHistory:\n1 click item Display\n2 scroll down\nScreen:\n", i)
		for k := range 14 {
			text += fmt.Sprintf("%d switch Option%d off\n", k, k+i)
		}
		text += "You said: " + Kinds[0].head() + ",\"index\":3}\nAgent 1 said, maybe wrong: " + Kinds[0].head() + ",\"index\":5}\n"
		p := ParsePrompt(text)
		m.prompts = append(m.prompts, p)
		m.batch = append(m.batch, Example{p, []Choice{{Kind: 0, Elem: p.Index[3].Pos, Start: -1, End: -1}}})
		n := len(p.Tokens) + 2
		m.tokens += n
		m.flops += forwardFlops(DefaultConfig, n)
	}
	return m
}

// forwardFlops counts the products of one pass over n tokens: two operations each; attention counts only what a causal mask leaves.
func forwardFlops(c Config, n int) float64 {
	perToken := c.Layers * (c.Dim*3*c.Dim + c.Dim*c.Dim + 2*c.Dim*c.FF)
	return 2*float64(perToken)*float64(n) + 2*float64(c.Layers*2*c.Dim)*float64(n)*float64(n+1)/2
}

// cpuSeconds is the time that this process has computed: what else runs on the machine does not count.
func cpuSeconds() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // cannot fail for RUSAGE_SELF
	}
	sec := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return sec(r.Utime) + sec(r.Stime)
}

const measureSteps = 6

// Train gives the GFLOP/s of SFT steps; a backward pass counts as two forward passes.
func (m *Measure) Train() float64 {
	m.trainer.SFTStep(m.batch, nil, 1e-6) // warm
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

// Sample gives the GFLOP/s of answering every prompt once without a cache.
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

// Peak gives the GFLOP/s of a loop of independent fused multiply-adds on one core.
func (m *Measure) Peak() float64 {
	const rounds, perRound = 20_000_000, 12 * 8 * 2
	t := cpuSeconds()
	peakLoop(rounds)
	return rounds * perRound / (cpuSeconds() - t) / 1e9
}

// ReplaceGemm swaps the matrix product, for benchmarks, until the returned function is called.
func ReplaceGemm(f func(m, n, k int, a []float32, ars, acs int, b []float32, ldb int, c []float32, ldc int, add bool)) (restore func()) {
	old := gemm
	gemm = f
	return func() { gemm = old }
}
