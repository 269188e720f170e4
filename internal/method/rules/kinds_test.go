package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

func TestKindsOfSystemsChangeOneThingEach(t *testing.T) {
	s := spec.Default()
	s.Agents, s.Rounds, s.Decoding.Temperatures = 3, 2, []float64{0.1, 0.2, 0.3}
	policies := []string{"a", "b", "c"}
	for text, want := range map[string]struct {
		agents, calls int // agents that play an episode, and calls of one decision
		silent        bool
	}{
		"trained":          {3, 6, false},
		"base-alone":       {1, 1, false},
		"trained-agent2":   {1, 1, false},
		"trained-silent":   {6, 6, true},
		"trained-oneround": {3, 3, false},
		"trained-shuffled": {3, 6, false},
		"trained-liar":     {3, 6, false},
		"base-whole":       {1, 1, false},
		"imitation-less":   {2, 4, false},
	} {
		k, err := rules.ParseSystemKind(text)
		if err != nil || k.String() != text {
			t.Fatalf("ParseSystemKind(%s) = %v, %v, want that kind", text, k, err)
		}
		e, err := k.System(s, policies)
		if err != nil || e.Name != text || e.Silent != want.silent {
			t.Fatalf("System of %s = %+v, %v, want one that is silent: %v", text, e, err, want.silent)
		}
		for i := range uint64(20) {
			c, _, err := e.Config(s, "val", i)
			if err != nil || len(c.Policies) != want.agents || len(c.Policies)*c.Rounds != want.calls ||
				len(c.Temperature) != want.agents {
				t.Errorf("%s decides in episode %d with %d agents in %d rounds at %v, %v; want %d agents and %d calls",
					text, i, len(c.Policies), c.Rounds, c.Temperature, err, want.agents, want.calls)
			}
			for a, p := range c.Policies { // every agent keeps its own temperature
				if own := s.Temperatures()[slices.Index(policies, p)]; c.Temperature[a] != own {
					t.Errorf("%s asks policy %s at temperature %v, want %v", text, p, c.Temperature[a], own)
				}
			}
		}
	}
}

func TestTheAgentThatIsAloneOrMissesChanges(t *testing.T) {
	s := spec.Default()
	s.Agents, s.Decoding.Temperatures = 3, []float64{0.5}
	for _, way := range []string{rules.WayAlone, rules.WayWhole, rules.WayLess} {
		e, err := rules.SystemKind{Of: rules.OfTrained, Way: way}.System(s, []string{"a", "b", "c"})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for i := range uint64(300) {
			c, _, err := e.Config(s, "val", i)
			if err != nil {
				t.Fatal(err)
			}
			seen[strings.Join(c.Policies, "")]++
		}
		for who, n := range seen {
			if len(seen) != 3 || n < 70 {
				t.Errorf("%s: %s plays %d of 300 episodes, one of %v, want each of three about 100", way, who, n, seen)
			}
		}
	}
}

func TestTheLiarChangesWithTheEpisode(t *testing.T) {
	s := spec.Default()
	system, err := rules.SystemKind{Of: rules.OfTrained, Way: rules.WayLiar}.System(s, []string{"a", "b", "c", "d"})
	if err != nil || !system.Liar || system.Shuffled {
		t.Fatalf("the system is %+v, %v, want one with a liar only", system, err)
	}
	item := rules.EvalItem{System: system, Split: "val"}
	seen := map[int]int{}
	for i := range 400 {
		seen[rules.Liar(s, item, i)]++
	}
	for agent := range 4 {
		if seen[agent] < 70 {
			t.Errorf("the liars are %v, want each of four agents in about 100 of 400 episodes", seen)
		}
	}
}

func TestAWholeSystemSeesTheScreenThatOthersDivide(t *testing.T) {
	s := spec.Default()
	s.Views = agents.Views{Kind: agents.RegionViews}
	for way, kind := range map[string]agents.ViewKind{
		rules.WayAlone: agents.RegionViews, rules.WayWhole: "", rules.WayLiar: agents.RegionViews,
	} {
		system, err := rules.SystemKind{Of: rules.OfBase, Way: way}.System(s, []string{"a", "b", "c", "d"})
		if err != nil {
			t.Fatal(err)
		}
		if config, _, err := system.Config(s, "val", 3); err != nil || config.Views.Kind != kind {
			t.Errorf("%s has the views %+v, %v, want %q", way, config.Views, err, kind)
		}
	}
}

func TestOnlySystemsThatReadOthersMessagesHaveADonor(t *testing.T) {
	for _, way := range []string{
		"", rules.WayAlone, rules.WayWhole, rules.WaySilent, rules.WayOneRound, rules.WayShuffled, rules.WayLiar,
		rules.WayLess,
	} {
		donor, ok := rules.SystemKind{Of: rules.OfBase, Way: way}.Donor()
		if want := way == rules.WayShuffled || way == rules.WayLiar; ok != want || donor.String() != rules.OfBase {
			t.Errorf("the donor of base-%s is %s, %v, want base, %v", way, donor, ok, want)
		}
	}
}

func TestAgentsOfTheLiteratureAreSystemsOfOne(t *testing.T) {
	s := spec.Default()
	s.Trainer.Name = "llamafactory"
	s.Models = map[spec.Role]spec.Model{"gpt-4": {Temperature: 0.5, Images: true}, "small": {}}
	for text, want := range map[string]string{
		"base-plain":    "n=1 m=1 temperature=[0] top_p=1",
		"base-t3a":      "n=1 m=1 temperature=[0] top_p=1 in the style of t3a",
		"gpt-4-plain":   "model gpt-4, n=1 m=1 temperature=[0.5] top_p=1",
		"gpt-4-m3a":     "model gpt-4, n=1 m=1 temperature=[0.5] top_p=1 in the style of m3a",
		"small-seeact":  "model small, n=1 m=1 temperature=[0] top_p=1 in the style of seeact",
		"expert":        "no policy",
		"small-m3a":     "images",
		"trained-m3a":   "screenshots",
		"large-infigui": `no model "large"`,
	} {
		k, err := rules.ParseSystemKind(text)
		if err != nil {
			t.Fatal(err)
		}
		e, err := k.System(s, []string{"a", "b", "c", "d"})
		got := e.Decoding()
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}

	s.Observation.Kind = agents.AsBoth
	for text, want := range map[string]string{
		"trained-m3a":    "n=1 m=1 temperature=[0] top_p=1 in the style of m3a",
		"trained-seeact": "n=1 m=1 temperature=[0] top_p=1 in the style of seeact",
		"small-plain":    "small-plain: agents see pictures (observation.kind: both): set models.small.images",
	} {
		k, err := rules.ParseSystemKind(text)
		if err != nil {
			t.Fatal(err)
		}
		e, err := k.System(s, []string{"a", "b", "c", "d"})
		if got := e.Decoding(); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s of a run that sees is %s, %v; want %s", text, got, err, want)
		}
	}

	s.Trainer.Name = spec.Embedded
	k, _ := rules.ParseSystemKind("base-t3a")
	if _, err := k.System(s, []string{"a"}); err == nil {
		t.Error("the embedded policy plays in the style of t3a, want an error")
	}
}

func TestImpossibleKindsAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "best", "expert-alone", "gpt-4", "gpt-4-silent", "trained-", "trained-loud", "trained-agent",
		"trained-agent-1", "alone",
	} {
		if k, err := rules.ParseSystemKind(text); err == nil {
			t.Errorf("ParseSystemKind(%q) = %v, want an error", text, k)
		}
	}
	s := spec.Default()
	for text, policies := range map[string][]string{"trained-agent4": {"a", "b"}, "base-silent": {"a"}} {
		k, err := rules.ParseSystemKind(text)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := k.System(s, policies); err == nil {
			t.Errorf("%s of %d agents is %s, want an error", text, len(policies), fmt.Sprint(e))
		}
	}
}
