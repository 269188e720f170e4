//go:build integration

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
)

// sleeper is a model with a fixed latency.
type sleeper struct{ d time.Duration }

func (s sleeper) Complete(context.Context, chat.Request) (chat.Response, error) {
	time.Sleep(s.d)

	return chat.Response{Texts: []string{"Reason: x\nAction: {\"action_type\":\"click\",\"index\":0}"}}, nil
}

// BenchmarkDecision compares a decision of 4 agents × 3 rounds with its bound: three times the longest path of the
// topology, call after call.
func BenchmarkDecision(b *testing.B) {
	const rounds = 3
	model := sleeper{50 * time.Millisecond}
	seen := agents.View{Observation: domain.Observation{
		Elements: []domain.Element{{Role: "button", Text: "A", Visible: true}},
	}}
	worst := 0.0
	for _, topo := range domain.EvaluationTopologies(4) {
		c := agents.Config{
			Policies:    make([]string, 4),
			Topology:    topo,
			Rounds:      rounds,
			Temperature: make([]float64, 4),
		}
		decide := func() { _, _ = agents.Decide(b.Context(), model, c, seen, 1) }
		path := func() {
			for range rounds * topo.LongestPath() {
				_, _ = model.Complete(b.Context(), chat.Request{})
			}
		}

		got, bound, ratio := sideBySide(
			func() float64 { return seconds(decide) },
			func() float64 { return seconds(path) },
		)
		note(fmt.Sprintf("decision 4×3, edges %v, longest path %d", topo.Edges, topo.LongestPath()),
			"%.0f ms, bound %.0f ms", 1000*got, 1000*bound)
		worst = max(worst, ratio)
	}
	line(b, "a decision of 4 agents × 3 rounds / the longest path, at 50 ms latency (worst graph)",
		worst, "<= 1.1", worst <= 1.1)
}
