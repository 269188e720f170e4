package retrain_test

import (
	"os"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

const good = `
name: nightly
line: mobile
environment: shop
environments:
  shop: {suite: openenv, servers: ["ws://127.0.0.1:8000/ws"]}
when: {cron: ["0 3 * * *"], time_zone: Europe/Berlin, jitter: 5m, catch_up: 2h}
train: {epochs: 3, replay: 0.2, set: {slots: 60}}
gate: {margin: 0.05}
approval: {within: 24h}
`

func parse(text string) (retrain.Schedule, error) {
	return retrain.Parse(spec.Source{Name: "s.yaml", Dir: "/"}, []byte(text), catalog.All{})
}

func TestParseReadsAScheduleOverTheDefaults(t *testing.T) {
	s, err := parse(good)
	if err != nil {
		t.Fatal(err)
	}
	if s.Gate.Margin != 0.05 || s.Gate.Episodes != 100 || s.When.Overlap != retrain.OverlapSkip ||
		s.Train.Set["slots"] != "60" || s.Where().Suite != "openenv" {
		t.Errorf("the schedule is %+v, want its values, and the defaults of all others", s)
	}
}

func TestTheExamplesArePossibleSchedules(t *testing.T) {
	for _, name := range []string{"nightly", "two"} {
		raw, err := os.ReadFile("../../../examples/schedules/" + name + ".yaml")
		if err == nil {
			_, err = parse(string(raw))
		}
		if err != nil {
			t.Errorf("examples/schedules/%s.yaml: %v, want no error", name, err)
		}
	}
}

func TestImpossibleSchedulesAreRefusedWithTheirPlaces(t *testing.T) {
	for change, want := range map[string]string{
		"catch_up: 2h>":                                 "when.catch_up: expected how late a firing may be",
		"cron: [\"0 3 * * *\"], >":                      "when: expected cron or every",
		"Europe/Berlin>Mars/Base":                       "s.yaml:7:40: when.time_zone: expected an IANA time zone",
		"jitter: 5m>jitter: soon":                       "when.jitter: expected a duration such as 90m, not \"soon\"",
		"replay: 0.2>replay: 2":                         "train.replay: expected a number from 0 to 1, not 2",
		"slots: 60>epochs: 60":                          "train.set.epochs: expected other keys",
		"environment: shop>environment: sh":             "environment: expected one of",
		"margin: 0.05>margins: 0.05":                    "gate.margins: unknown key",
		"name: nightly>name: Every Night":               "name: expected a name of 1 to 40",
		"within: 24h>within: -1h":                       "approval.within: expected a duration",
		"name: nightly>name: a-name-that-is-too-long-x": "name: expected at most 24 characters",
		"gate: {margin: 0.05}>gate: {episodes: 5}":      "gate.episodes: expected a whole number from 20",
		"catch_up: 2h>catch_up: 2s":                     "when.catch_up: expected at least 10s",
		"suite: openenv>suite: nowhere":                 "environments.shop: expected",
	} {
		old, replaced, _ := strings.Cut(change, ">")
		_, err := parse(strings.Replace(good, old, replaced, 1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Parse = %v, want an error with %q", change, err, want)
		}
	}
}

// pairs returns n episodes of a template, of which each system alone solves some and which both otherwise fail.
func pairs(template string, onlyOld, onlyNew, n int) []retrain.PairedEpisode {
	var out []retrain.PairedEpisode
	for i := range n {
		out = append(out, retrain.PairedEpisode{Template: template, Old: i < onlyOld, New: i >= n-onlyNew})
	}

	return out
}

func TestTheGateDecidesByIntervalsAndNotByMeans(t *testing.T) {
	g := retrain.Default().Gate
	better := retrain.NewGroup(retrain.GroupNew, pairs("new", 2, 30, 100))
	same := retrain.NewGroup(retrain.GroupOld, pairs("old", 3, 3, 100))
	for name, x := range map[string]struct {
		evidence retrain.Evidence
		gate     func(*retrain.GateSettings)
		why      string // empty if the system is accepted
	}{
		"better":         {evidence: retrain.Evidence{Groups: []retrain.Group{better, same}}},
		"only new tasks": {evidence: retrain.Evidence{Groups: []retrain.Group{better}}},
		"a mean alone": {
			evidence: retrain.Evidence{Groups: []retrain.Group{
				retrain.NewGroup(retrain.GroupNew, pairs("new", 5, 10, 100)), same,
			}},
			why: "+5.0 [-2.7, +12.7] points on 100 episodes of new tasks, margin 0.0",
		},
		"below the margin": {
			evidence: retrain.Evidence{Groups: []retrain.Group{better, same}},
			gate:     func(g *retrain.GateSettings) { g.Margin = 0.2 },
			why:      "margin 20.0",
		},
		"worse on old tasks": {
			evidence: retrain.Evidence{Groups: []retrain.Group{
				better, retrain.NewGroup(retrain.GroupOld, pairs("old", 20, 5, 100)),
			}},
			why: "points on 100 episodes of old tasks, tolerance 10.0",
		},
		"one old task is lost": {
			evidence: retrain.Evidence{Groups: []retrain.Group{
				better, retrain.NewGroup(retrain.GroupOld, append(pairs("a", 0, 10, 190), pairs("b", 8, 0, 10)...)),
			}},
			why: "b is worse: 8 episodes lost, 0 won (p = 0.004)",
		},
		"too few episodes": {
			evidence: retrain.Evidence{Groups: []retrain.Group{
				retrain.NewGroup(retrain.GroupNew, pairs("new", 0, 2, 2)), same,
			}},
			why: "on 2 episodes of new tasks, fewer than 90 of 100",
		},
		"too dear": {
			evidence: retrain.Evidence{Groups: []retrain.Group{better, same}, TokensOld: 10, TokensNew: 16},
			why:      "1.60 times the tokens per episode, limit 1.50",
		},
		"no episodes": {
			evidence: retrain.Evidence{Groups: []retrain.Group{retrain.NewGroup(retrain.GroupNew, nil)}},
			why:      "0 episodes of new tasks",
		},
	} {
		gate := g
		if x.gate != nil {
			x.gate(&gate)
		}
		v := gate.Decide(x.evidence)
		if v.Accepted != (x.why == "") || !strings.Contains(v.Why(), x.why) {
			t.Errorf("%s: the verdict is %v, because %q; want it accepted only without a reason, here %q",
				name, v.Accepted, v.Why(), x.why)
		}
	}
}
