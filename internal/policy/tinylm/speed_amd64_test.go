package tinylm

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
)

// speedSteps is the number of repetitions of a measurement.
const speedSteps = 6

// work is a fixed amount of training and sampling.
type work struct {
	batch   []Example
	prompts []*Prompt
	trainer *Trainer
	tokens  int
	flops   float64 // number of operations of a forward pass over batch
}

// newWork returns prompts of typical size.
func newWork() *work {
	w := &work{trainer: &Trainer{M: New(DefaultConfig, 1), Workers: 1}}
	for i := range 16 {
		text := fmt.Sprintf("Goal: In Settings open Display and turn on Option%d\n", i) +
			"History:\n1 click item Display\n2 scroll down\nScreen:\n"
		for k := range 14 {
			text += fmt.Sprintf("%d switch Option%d off\n", k, k+i)
		}
		text += "You said: " + ActionKinds[0].head() + ",\"index\":3}\n"
		text += "Agent 1 said, maybe wrong: " + ActionKinds[0].head() + ",\"index\":5}\n"

		p := ParsePrompt(text)
		w.prompts = append(w.prompts, p)
		w.batch = append(w.batch, Example{p, []Choice{{Kind: 0, Elem: p.Index[3].Pos, Start: -1, End: -1}}})
		n := len(p.Tokens) + 2
		w.tokens += n
		w.flops += forwardFlops(DefaultConfig, n)
	}

	return w
}

// forwardFlops returns the number of operations of a pass over n tokens. It counts two per multiply-add of matrix
// products and nothing else, so it understates the share of the peak. Of attention, it counts only the unmasked part.
func forwardFlops(c Config, n int) float64 {
	perToken := c.Layers * (c.Dim*3*c.Dim + c.Dim*c.Dim + 2*c.Dim*c.FF)

	return 2*float64(perToken)*float64(n) + 2*float64(c.Layers*2*c.Dim)*float64(n)*float64(n+1)/2
}

// train makes an SFT step. A backward pass counts as two forward passes.
func (w *work) train() { w.trainer.SFTStep(w.batch, nil, 1e-6) }

// sample answers every prompt without a prefix cache.
func (w *work) sample() {
	policy := NewPolicy(w.trainer.M)
	for _, p := range w.prompts {
		policy.cache = policy.cache[:0]
		policy.Sample(p, Sampling{N: 1, Temperature: 1, TopP: 1, Seed: 1})
	}
}

// cpuSeconds returns the CPU time that f takes, which is independent of other processes.
func cpuSeconds(b *testing.B, f func()) float64 {
	b.Helper()
	spent := func() float64 {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			b.Fatal(err)
		}

		return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	}
	began := spent()
	f()

	return spent() - began
}

// BenchmarkShareOfThePeak measures training and sampling on one thread, as a share of the peak of a loop of independent
// multiply-adds of 8 lanes. It reports the medians of alternating runs, because the speed of a machine drifts.
func BenchmarkShareOfThePeak(b *testing.B) {
	if Kernel() == "portable" {
		b.Skip("the portable kernel has no peak to compare with: this processor lacks AVX2 and FMA")
	}
	w := newWork()
	for name, x := range map[string]struct {
		step   func()
		passes float64
	}{"training": {w.train, 3}, "sampling": {w.sample, 1}} {
		b.Run(name, func(b *testing.B) {
			var shares, speeds []float64
			x.step() // fills caches
			for range 5 {
				const rounds, chains, lanes = 20_000_000, 12, 8
				peak := rounds * chains * 2 * lanes / cpuSeconds(b, func() { fmaPeak(rounds) })
				passes := speedSteps * x.passes / cpuSeconds(b, func() {
					for range speedSteps {
						x.step()
					}
				})
				shares = append(shares, passes*w.flops/peak)
				speeds = append(speeds, passes/x.passes*float64(w.tokens))
			}
			slices.Sort(shares)
			slices.Sort(speeds)
			b.ReportMetric(shares[2], "of-the-peak(>=0.45)")
			b.ReportMetric(speeds[2], "tokens/s")
		})
	}
}
