package training_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/trainer"
)

// Sizes of the model of these tests: a recurrent network with an adapter of low rank on every layer.
const (
	width      = 8
	layers     = 3
	rank       = 2
	vocabulary = 64
)

// adapter is a LoRA adapter: B·A is added to every layer, times scale.
type adapter struct {
	a, b  [layers][][]float64 // rank × width, width × rank
	scale float64
}

func matrix(rows, columns int, path ...any) [][]float64 {
	random := domain.Rand(1, path...)
	out := make([][]float64, rows)
	for i := range out {
		for range columns {
			out[i] = append(out[i], random.NormFloat64()/2)
		}
	}

	return out
}

// The base model, which all adapters share.
var (
	embeddings = matrix(vocabulary, width, "embeddings")
	weights    = [layers][][]float64{
		matrix(width, width, "layer", 0), matrix(width, width, "layer", 1), matrix(width, width, "layer", 2),
	}
)

func newAdapter(name string) adapter {
	out := adapter{scale: 1}
	for l := range layers {
		out.a[l] = matrix(rank, width, name, "A", l)
		out.b[l] = matrix(width, rank, name, "B", l)
	}

	return out
}

// without returns the adapter with a matrix A of zeros in the given layers.
func (d adapter) without(zeroed ...int) adapter {
	for _, l := range zeroed {
		d.a[l] = make([][]float64, rank)
		for i := range d.a[l] {
			d.a[l][i] = make([]float64, width)
		}
	}

	return d
}

func product(m [][]float64, x []float64) []float64 {
	out := make([]float64, len(m))
	for i, row := range m {
		for j, value := range row {
			out[i] += value * x[j]
		}
	}

	return out
}

// logProb returns log π of an answer's tokens after those of a prompt.
func (d adapter) logProb(prompt, answer []int) float64 {
	state := make([]float64, width)
	sum := 0.0
	for i, token := range append(slices.Clone(prompt), answer...) {
		if i >= len(prompt) {
			logits := product(embeddings, state)
			all := 0.0
			for _, logit := range logits {
				all += math.Exp(logit)
			}
			sum += logits[token] - math.Log(all)
		}
		for k, value := range embeddings[token] {
			state[k] += value
		}
		for l := range layers {
			next := product(weights[l], state)
			for k, value := range product(d.b[l], product(d.a[l], state)) {
				next[k] += d.scale * value
			}
			for k := range next {
				state[k] = math.Tanh(next[k])
			}
		}
	}

	return sum
}

// server serves adapters by the digests of policies.
type server struct {
	adapters map[string]adapter
	shift    int     // of every token
	prefix   string  // of every prompt
	noise    float64 // added to log π of every token
	unseen   int     // characters of a picture's digest that it does not see
	err      error
}

func (s server) tokens(text string) []int {
	var out []int
	for _, b := range []byte(text) {
		out = append(out, (int(b)+s.shift)%vocabulary)
	}

	return out
}

// Score scores answers, as a policy server does.
func (s server) Score(_ context.Context, request chat.ScoreRequest) ([]chat.Score, error) {
	var out []chat.Score
	for _, text := range request.Answers {
		prompt := s.tokens(s.prefix + request.System + "|" + request.User)
		answer := s.tokens(text)
		score := chat.Score{Tokens: len(answer), Prompt: len(prompt), IDs: chat.TokensDigest(prompt, answer)}
		for _, picture := range request.Images {
			prompt = append(prompt, s.tokens(picture.Digest[s.unseen:])...)
			score.Prompt = 0 // the tokens of a prompt with a picture are not known
			score.IDs = ""
		}
		score.LogProb = s.adapters[request.Model].logProb(prompt, answer) + s.noise*float64(len(answer))
		out = append(out, score)
	}

	return out, s.err
}

// saved is a trainer that scores with the adapters that it has saved.
type saved struct {
	trainer.Trainer
	adapters  map[string]adapter
	precision domain.Precision
	err       error
}

func (s saved) Score(ctx context.Context, job trainer.ScoreJob) (trainer.Scores, error) {
	out := trainer.Scores{Precision: s.precision}
	for _, row := range job.Rows {
		got, err := server{adapters: s.adapters}.Score(ctx, chat.ScoreRequest{
			Model: row.Policy, System: job.System, User: row.Prompt, Images: chat.Stored(row.Image),
			Answers: []string{row.Answer},
		})
		if err != nil {
			return out, err
		}
		out.Scores = append(out.Scores, trainer.Score{
			LogProb: got[0].LogProb, Tokens: got[0].Tokens, Prompt: got[0].Prompt, IDs: got[0].IDs,
		})
	}

	return out, s.err
}

// stage is what a policy is published to.
type stage struct {
	jobs *training.Jobs
	spec spec.Spec

	mu   sync.Mutex
	sent []events.Event
}

// newStage returns the jobs of a trainer with some servers.
func newStage(own saved, quorum int, servers ...server) *stage {
	s := &stage{spec: spec.Default()}
	s.spec.Name = "r"
	s.spec.Serving.Quorum = quorum
	s.jobs = &training.Jobs{
		Common: activities.Common{Emit: func(_ string, e events.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.sent = append(s.sent, e)
		}},
		Trainers: map[string]trainer.Trainer{spec.Embedded: own},
		Load:     func(context.Context, string, int) error { return nil },
	}
	for i, server := range servers {
		name := fmt.Sprintf("http://server-%d/v1", i)
		s.jobs.Servers = append(s.jobs.Servers, training.Server{Name: name, Scorer: server})
	}

	return s
}

// publish publishes a policy of agent 1 in epoch 2.
func (s *stage) publish(t *testing.T) (domain.Gap, error) {
	t.Helper()
	var pairs []domain.Example
	for i := range 40 {
		pairs = append(pairs, domain.Example{
			Prompt: fmt.Sprintf("Goal: tap %d", i), Chosen: "click the first", Rejected: "click the second",
		})
		if i%2 == 0 {
			pairs[i].Image = fmt.Sprintf("picture %d", i)
		}
	}
	trained := training.Trained{Policy: "policy-0", System: "You tap.", Pairs: pairs, Seed: 3}
	canaries, _, err := s.jobs.Canaries(t.Context(), s.spec, trained)
	if err != nil {
		t.Error(err)

		return domain.Gap{}, err
	}
	if n := len(canaries.Rows); canaries.Unknown == "" && n != 2*s.spec.Serving.Canaries {
		t.Errorf("%d canaries, want both answers of %d rows", n, s.spec.Serving.Canaries)
	}

	return s.jobs.PublishChecked(t.Context(), s.spec, training.Published{Epoch: 2, Agent: 1}, "policy-0", canaries)
}

func TestWhatIsServedIsWhatWasTrained(t *testing.T) {
	t.Parallel()
	own := map[string]adapter{"policy-0": newAdapter("one"), "policy-1": newAdapter("two")}
	with := func(change func(map[string]adapter)) server {
		adapters := maps.Clone(own)
		change(adapters)

		return server{adapters: adapters}
	}
	const apart, tokens = "is not what was trained", "reads other tokens than the trainer"
	for name, c := range map[string]struct {
		served server
		want   string // in the fault; if empty, there must be no fault
	}{
		"what was saved": {server{adapters: own}, ""},
		"rounding":       {server{adapters: own, noise: 1e-5}, ""},
		"coarser sums":   {server{adapters: own, noise: 1e-2}, apart},
		"a matrix A of zeros": {with(func(m map[string]adapter) {
			m["policy-0"] = m["policy-0"].without(0, 1, 2)
		}), apart},
		"a missing layer": {with(func(m map[string]adapter) { m["policy-0"] = m["policy-0"].without(1) }), apart},
		"no adapter":      {with(func(m map[string]adapter) { m["policy-0"] = adapter{} }), apart},
		"swapped adapters": {with(func(m map[string]adapter) {
			m["policy-0"], m["policy-1"] = m["policy-1"], m["policy-0"]
		}), apart},
		"a wrong scale": {with(func(m map[string]adapter) {
			half := m["policy-0"]
			half.scale = 0.5
			m["policy-0"] = half
		}), apart},
		"another tokenizer":     {server{adapters: own, shift: 1}, tokens},
		"another chat template": {server{adapters: own, prefix: "<s>"}, tokens},
		"another picture size":  {server{adapters: own, unseen: 1}, apart},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trained := saved{adapters: own, precision: domain.Float32}
			s := newStage(trained, 0, server{adapters: own}, c.served)
			gap, err := s.publish(t)
			if c.want == "" {
				if err != nil || gap.Answers != 16 || gap.Wide() || gap.Limit != 1e-3 {
					t.Errorf("the gap is %+v, %v; want 16 answers within 0.001 nats per token", gap, err)
				}

				return
			}
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("the fault is %v, want an invalid one that contains %q", err, c.want)
			}
			for _, both := range []string{"policy-0", "http://server-1/v1", "the trainer", "the server"} {
				if !strings.Contains(err.Error(), both) {
					t.Errorf("the fault is %v, want it to name %s", err, both)
				}
			}
			sent, ok := s.sent[len(s.sent)-1].(events.Gap)
			if !ok || sent.Mean <= sent.Limit || sent.Epoch != 2 || sent.Agent != 1 || sent.Of != events.GapServed {
				t.Errorf("the last event is %+v, want the gap above its limit", s.sent[len(s.sent)-1])
			}
		})
	}
}

func TestTheLimitOfAPublishedPolicyFollowsThePrecisionOfItsTrainer(t *testing.T) {
	t.Parallel()
	own := map[string]adapter{"policy-0": newAdapter("one")}
	for precision, passes := range map[domain.Precision]bool{
		domain.Exact: false, domain.Float32: false, domain.Float16: false, domain.BFloat16: true,
	} {
		s := newStage(saved{adapters: own, precision: precision}, 0, server{adapters: own, noise: 1e-2})
		if _, err := s.publish(t); (err == nil) != passes {
			t.Errorf("with %s, 0.01 nats per token are %v, want a fault: %v", precision, err, !passes)
		}
	}
}

func TestAServerThatDoesNotAnswerIsNoProofThatAPolicyIsServed(t *testing.T) {
	t.Parallel()
	own := map[string]adapter{"policy-0": newAdapter("one")}
	trained := saved{adapters: own, precision: domain.Float32}
	good := server{adapters: own}
	down := server{adapters: own, err: fault.New(fault.Transient, "down")}
	blind := server{adapters: own, err: fmt.Errorf("%w: old", chat.ErrNoScores)}
	wrong := server{adapters: own, noise: 1}

	if gap, err := newStage(trained, 1, down, good).publish(t); err != nil || gap.Answers == 0 {
		t.Errorf("with a quorum of 1 of 2: %+v, %v; want what the other server answers", gap, err)
	}
	if _, err := newStage(trained, 0, down, good).publish(t); fault.KindOf(err) != fault.Transient {
		t.Errorf("with a quorum of all: %v, want a transient fault", err)
	}
	if _, err := newStage(trained, 1, wrong, good).publish(t); fault.KindOf(err) != fault.Invalid {
		t.Errorf("with a wrong server beside a good one: %v, want an invalid fault", err)
	}
	if gap, err := newStage(trained, 0, blind).publish(t); err != nil || !strings.Contains(gap.Unknown, "old") {
		t.Errorf("with a server that cannot score: %+v, %v; want the reason", gap, err)
	}
	mute := saved{adapters: own, err: fmt.Errorf("%w: no package", trainer.ErrNoScores)}
	if gap, err := newStage(mute, 0, wrong).publish(t); err != nil || !strings.Contains(gap.Unknown, "no package") {
		t.Errorf("with a trainer that cannot score: %+v, %v; want the reason", gap, err)
	}
}

func TestAPublishThatRunsTwiceAtOnceFindsTheSame(t *testing.T) {
	t.Parallel()
	own := map[string]adapter{"policy-0": newAdapter("one")}
	s := newStage(saved{adapters: own, precision: domain.Float32}, 0, server{adapters: own, noise: 2e-4})
	gaps := make([]domain.Gap, 4)
	var twice sync.WaitGroup
	for i := range gaps {
		twice.Go(func() {
			var err error
			if gaps[i], err = s.publish(t); err != nil {
				t.Error(err)
			}
		})
	}
	twice.Wait()
	for _, gap := range gaps {
		if gap != gaps[0] || gap.Mean < 1e-4 {
			t.Errorf("the gaps are %+v, want the same 0.0002 nats per token", gaps)
		}
	}
}
