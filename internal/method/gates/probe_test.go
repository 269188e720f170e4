package gates_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/gates"
	"github.com/collabui/collabui/internal/method/spec"
)

// answerWith returns an answer with an action of a type.
func answerWith(kind string) string {
	return `Reason: r Action: {"action_type":"` + kind + `","index":1}`
}

// dataset returns pairs with the given number of chosen answers of every type.
func dataset(counts map[string]int) []domain.Example {
	var out []domain.Example
	for _, kind := range []string{"click", "long_press", "double_tap"} {
		for range counts[kind] {
			out = append(out, domain.Example{
				Prompt:   fmt.Sprint("p", len(out)),
				Chosen:   answerWith(kind),
				Rejected: "x",
				Source:   domain.SourceOwn,
			})
		}
	}

	return out
}

func TestAProbeHasPromptsOfEveryActionTypeThatAGateWatches(t *testing.T) {
	limits := spec.Default().Gates
	pairs := dataset(map[string]int{"click": 900, "long_press": 64, "double_tap": 36})
	for seed := range uint64(20) {
		got := gates.ProbePairs(limits, pairs, seed)
		if len(got) != limits.Probe {
			t.Fatalf("seed %d: the probe has %d prompts, want %d", seed, len(got), limits.Probe)
		}
		count := map[string]int{}
		for _, p := range got {
			count[p.Chosen]++
		}
		if count[answerWith("long_press")] < 8 || count[answerWith("double_tap")] < 8 ||
			count[answerWith("click")] < 30 {
			t.Errorf("seed %d: the probe has %v, want 8 or more of the watched types and mostly clicks", seed, count)
		}
		if !reflect.DeepEqual(got, gates.ProbePairs(limits, pairs, seed)) {
			t.Errorf("seed %d: the second draw differs, want the same one", seed)
		}
	}
}

func TestAProbeHasAllPairsOfASmallDataSet(t *testing.T) {
	limits := spec.Default().Gates
	pairs := dataset(map[string]int{"click": 5, "long_press": 2})
	if got := gates.ProbePairs(limits, pairs, 1); !reflect.DeepEqual(got, pairs) {
		t.Errorf("the probe has %d pairs, want all %d in their order", len(got), len(pairs))
	}

	limits.Probe = 3
	if got := gates.ProbePairs(limits, pairs, 1); len(got) != 3 {
		t.Errorf("the probe has %d pairs, want 3", len(got))
	}
}

// scores returns the scores of a sampled, a chosen and a rejected answer.
func scores(logprobs ...float64) []chat.Score {
	var out []chat.Score
	for _, x := range logprobs {
		out = append(out, chat.Score{LogProb: x, Tokens: 1})
	}

	return out
}

func TestTheFiguresOfAProbe(t *testing.T) {
	pairs := dataset(map[string]int{"click": 1, "long_press": 2})
	pairs[0].Source, pairs[2].Rejected = domain.SourceCorrection, ""
	half, quarter := math.Log(0.5), math.Log(0.25)
	probed := []gates.Probed{
		{Pair: pairs[0], Sampled: answerWith("click"), Policy: scores(-1, half, quarter),
			Parent: scores(-2, quarter, half),
			Base:   scores(-4, -3, -3)},
		{Pair: pairs[1], Sampled: answerWith("click"), Policy: scores(-1, quarter, quarter),
			Parent: scores(-2, half, half),
			Base:   scores(-4, -3, -3)},
		{Pair: pairs[2], Sampled: "no action", Policy: scores(math.Inf(-1), -2), Parent: scores(math.Inf(-1), -1),
			Base: scores(math.Inf(-1), -1)},
	}

	got := gates.Measure(probed, gates.TypeShares(pairs), agents.Reader{}, "")
	for name, c := range map[string]struct{ got, want float64 }{
		"KL":                   {got.KL, 1},
		"KL to the base":       {got.KLBase, 3},
		"entropy":              {got.Entropy, 1},
		"parse rate":           {got.ParseRate, 2.0 / 3},
		"log π of chosen":      {got.Chosen.Policy, (half + quarter - 2) / 3},
		"its change":           {got.LogprobDelta, -1.0 / 3},
		"log π of rejected":    {got.Rejected.Policy, quarter},
		"displaced":            {got.Displaced, 0.25}, // 0 for the first pair, ½ for the second
		"change of correction": {got.BySource[domain.SourceCorrection].Chosen.Change(), half - quarter},
		"share of long_press":  {got.ByType["long_press"].Share, 2.0 / 3},
		"change of long_press": {got.ByType["long_press"].Chosen.Change(), (quarter - half - 1) / 2},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
	if p := got.ByType["long_press"]; p.Prompts != 2 || p.Sampled != 0 || got.Actions["click"] != 2 {
		t.Errorf("long_press = %+v and actions = %v, want 2 prompts, none sampled, 2 clicks", p, got.Actions)
	}
}

func TestUnknownFiguresAreNotInvented(t *testing.T) {
	pairs := dataset(map[string]int{"click": 2})
	probed := []gates.Probed{
		{Pair: pairs[0], Sampled: answerWith("click")}, {Pair: pairs[1], Sampled: answerWith("long_press")},
	}
	got := gates.Measure(probed, gates.TypeShares(pairs), agents.Reader{}, "too old")
	if got.Unknown != "too old" || got.ParseRate != 1 || got.Chosen != (domain.LogProbs{}) || got.BySource != nil {
		t.Errorf("Measure = %+v, want a parse rate, the reason, and no log-probabilities", got)
	}
	limits := spec.Default().Gates
	limits.MinEntropy = 1
	if why := gates.Update(limits, got, pairs); why != "" {
		t.Errorf("Gate = %q, want it to pass what is unknown", why)
	}
}

// TestAProbeOfSamplesTellsRaisedFromLoweredAnswers checks that the gates see an answer that GRPO lowers on purpose as a
// rejected one.
func TestAProbeOfSamplesTellsRaisedFromLoweredAnswers(t *testing.T) {
	sample := func(kind string, advantage float64) domain.Example {
		return domain.Example{Prompt: "p", Chosen: answerWith(kind), Advantage: advantage, Source: domain.SourceGroup}
	}
	pairs := []domain.Example{sample("click", 1), sample("long_press", -1), sample("click", 1)}
	if got, want := gates.TypeShares(pairs), map[string]float64{"click": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("TypeShares = %v, want %v: nothing must keep what is lowered", got, want)
	}

	scores := func(sampled, answer float64) []chat.Score { return []chat.Score{{LogProb: sampled}, {LogProb: answer}} }
	var probed []gates.Probed
	for _, p := range pairs {
		change := 1.0
		if p.Advantage < 0 {
			change = -9
		}
		probed = append(probed, gates.Probed{
			Pair: p, Sampled: answerWith("click"),
			Policy: scores(-1, -3+change), Parent: scores(-1.5, -3), Base: scores(-2, -3),
		})
	}
	got := gates.Measure(probed, gates.TypeShares(pairs), agents.Reader{}, "")
	if got.LogprobDelta != 1 || got.Rejected.Change() != -9 || got.KL != 0.5 {
		t.Errorf("change of raised answers = %v, of lowered ones = %v, KL = %v, want 1, -9 and 0.5",
			got.LogprobDelta, got.Rejected.Change(), got.KL)
	}
	if got := gates.Update(spec.Default().Gates, got, pairs); got != "" {
		t.Errorf("Gate = %q, want the update to pass", got)
	}

	s := spec.Default()
	s.Preference = spec.PreferenceGRPO
	if got := gates.PreferenceShare(s, probed); got != 1 {
		t.Errorf("PreferenceShare = %v, want 1: nothing is imitated", got)
	}
}

func TestSpeechParsesInAProbeOnlyWhereAgentsMaySpeak(t *testing.T) {
	const pass = "Reason: r\nAction: {\"action_type\":\"pass\"}"
	pairs := []domain.Example{{Chosen: pass, Rejected: answerWith("click"), Weight: 1}}
	for speech, want := range map[bool]float64{true: 1, false: 0} {
		probed := []gates.Probed{{Pair: pairs[0], Sampled: pass}}
		got := gates.Measure(probed, gates.TypeShares(pairs), agents.Reader{Speech: speech}, "no scores")
		if got.ParseRate != want || got.ByType["pass"].Share != 1 {
			t.Errorf("speech %v: a share of %v parses, %+v by type; want %v, and a pass among the chosen answers",
				speech, got.ParseRate, got.ByType, want)
		}
	}
}
