// Package value learns the probability that an episode succeeds from a given state, as baselines with a learnt value
// function need it: a logistic regression on words of goal and screen. Its functions are pure, and equal input gives
// equal bits.
//
// It does no I/O.
package value

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// size is the number of features onto which words are hashed.
const size = 1 << 12

// State is the state of an episode before a step.
type State struct {
	Goal        string
	Step        int // from 1
	Observation domain.Observation
}

// Example is a state together with its episode's outcome.
type Example struct {
	State
	Success bool
}

// Model is a learnt value function. The value of a nil model is 0 everywhere.
type Model struct{ weights []float64 }

// Parameters of fitting.
const (
	passes = 5
	rate   = 0.5  // learning rate of the first step; it falls as 1/√(1 + steps per example)
	decay  = 1e-4 // weight decay per example, relative to the initial rate
)

// Fit learns from examples, in an order drawn from the seed. Without examples, it returns nil.
func Fit(examples []Example, seed uint64) *Model {
	if len(examples) == 0 {
		return nil
	}
	model := &Model{weights: make([]float64, size)}
	features := make([][]uint32, len(examples))
	for i, example := range examples {
		features[i] = example.features()
	}
	step := 0.0
	for pass := range passes {
		for _, i := range domain.Rand(seed, "value", pass).Perm(len(examples)) {
			step++
			target := 0.0
			if examples[i].Success {
				target = 1
			}
			update := rate / math.Sqrt(1+step/float64(len(examples))) * (target - model.at(features[i]))
			for _, f := range features[i] {
				model.weights[f] += update/math.Sqrt(float64(len(features[i]))) - rate*decay*model.weights[f]
			}
		}
	}

	return model
}

// At returns the probability of success from a state, from 0 to 1.
func (m *Model) At(state State) float64 {
	if m == nil {
		return 0
	}

	return m.at(state.features())
}

func (m *Model) at(features []uint32) float64 {
	sum := 0.0
	for _, f := range features {
		sum += m.weights[f] / math.Sqrt(float64(len(features)))
	}

	return 1 / (1 + math.Exp(-sum))
}

// features returns the sorted indices of a state's features: words of the goal, words of the screen, words of both, and
// the step.
func (s State) features() []uint32 {
	goal := words(s.Goal)
	screen := []string{}
	for _, element := range s.Observation.Elements {
		texts := append([]string{element.Role, element.Text, element.Desc, element.Value}, element.State...)
		screen = append(screen, words(strings.Join(texts, " "))...)
	}
	var out []uint32
	add := func(kind, word string) { out = append(out, bucket(kind+word)) }
	add("bias", "")
	add("step ", string(rune('a'+min(s.Step, 25))))
	for _, w := range goal {
		add("goal ", w)
		if slices.Contains(screen, w) {
			add("both ", w)
			add("both", "")
		}
	}
	for _, w := range screen {
		add("screen ", w)
	}
	slices.Sort(out)

	return slices.Compact(out)
}

func words(text string) []string { return strings.Fields(strings.ToLower(text)) }

func bucket(word string) uint32 {
	hash32 := fnv.New32a()
	_, _ = hash32.Write([]byte(word))

	return hash32.Sum32() % size
}

// Encode returns the model as bytes: its weights as little-endian float64.
func (m *Model) Encode() []byte {
	var out []byte
	for _, w := range m.weights {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(w))
	}

	return out
}

// Decode returns the model that Encode encoded. It returns false if raw has the wrong length.
func Decode(raw []byte) (*Model, bool) {
	if len(raw) != 8*size {
		return nil, false
	}
	model := &Model{weights: make([]float64, size)}
	for i := range model.weights {
		model.weights[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}

	return model, true
}

// mix is λ of DigiRL: the weight of the outcome is 1 at the last step, and mix times as large at each step before it.
const mix = 0.5

// Advantages returns the advantage of the action at each step of an episode (Bai et al. 2024, DigiRL). With λ = mix, n
// steps, the outcome r of 1 or 0, and the value V, where V(s at n+1) = r, step t from 1 has
//
//	A = λ^(n−t) r + (1 − λ^(n−t)) (V(s at t+1) − V(s at t))
func (m *Model) Advantages(states []State, success bool) []float64 {
	reward := 0.0
	if success {
		reward = 1
	}
	out := make([]float64, len(states))
	for i, state := range states {
		next := reward
		if i+1 < len(states) {
			next = m.At(states[i+1])
		}
		share := math.Pow(mix, float64(len(states)-1-i))
		out[i] = share*reward + (1-share)*(next-m.At(state))
	}

	return out
}
