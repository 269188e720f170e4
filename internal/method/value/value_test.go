package value_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/value"
)

// state returns a screen with one button, whose text the goal may name.
func state(goal, button string, step int) value.State {
	return value.State{Goal: goal, Step: step, Observation: domain.Observation{
		Elements: []domain.Element{{Role: "button", Text: button}},
	}}
}

// examples returns states whose episodes succeed if the screen shows what the goal names.
func examples() []value.Example {
	var out []value.Example
	for i, w := range []string{"save", "send", "close", "open", "next", "back", "home", "star"} {
		out = append(out,
			value.Example{State: state("tap "+w, w, 1+i%3), Success: true},
			value.Example{State: state("tap "+w, "other", 1+i%3)})
	}

	return out
}

func TestAValueIsLearntFromOutcomes(t *testing.T) {
	m := value.Fit(examples(), 7)
	good, bad := m.At(state("tap undo", "undo", 2)), m.At(state("tap undo", "other", 2))
	if good < 0.6 || bad > 0.4 {
		t.Errorf("a screen with what an unseen goal names is worth %.2f, another %.2f; want above 0.6 and below 0.4",
			good, bad)
	}
	if again := value.Fit(examples(), 7); !bytes.Equal(again.Encode(), m.Encode()) {
		t.Error("a second fit has other weights, want equal bits")
	}
	read, ok := value.Decode(m.Encode())
	if !ok || read.At(state("tap undo", "undo", 2)) != good {
		t.Errorf("a decoded model is %v, want the same values", ok)
	}
	if _, ok := value.Decode([]byte("x")); ok {
		t.Error("Decode of other bytes succeeds, want it to fail")
	}
}

func TestNothingIsKnownWithoutExamples(t *testing.T) {
	m := value.Fit(nil, 7)
	if v := m.At(state("tap", "x", 1)); v != 0 {
		t.Errorf("the value is %v, want 0", v)
	}
	// Without a value function, the last step of a success counts fully, and each earlier one half as much as the next.
	got := m.Advantages([]value.State{state("a", "b", 1), state("a", "b", 2), state("a", "b", 3)}, true)
	for i, want := range []float64{0.25, 0.5, 1} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("Advantages = %v, want 0.25, 0.5 and 1", got)
		}
	}
	for _, a := range m.Advantages([]value.State{state("a", "b", 1)}, false) {
		if a != 0 {
			t.Errorf("the advantage of a failure is %v, want 0", a)
		}
	}
}

func TestAStepTowardsTheGoalHasAnAdvantage(t *testing.T) {
	m := value.Fit(examples(), 7)
	lost, found := state("tap undo", "other", 1), state("tap undo", "undo", 2)
	end := state("tap undo", "other", 3)
	towards := m.Advantages([]value.State{lost, found, end, end, end}, false)[0]
	away := m.Advantages([]value.State{found, lost, end, end, end}, false)[0]
	if towards < 0.1 || away > -0.1 {
		t.Errorf("a step to a better screen has the advantage %.2f, one to a worse screen %.2f; want > 0.1 and < −0.1",
			towards, away)
	}
}
