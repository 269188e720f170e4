package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// lacking commits two epochs of a run of two agents. In the second one, agent 1 had no pairs, so nothing was measured,
// and no slot had an outcome.
func lacking(t *testing.T, b store.Bucket) runs.Run {
	t.Helper()
	run := crafted(t, b, func(s *spec.Spec) { s.Epochs = 2 })
	for number := 1; number <= 2; number++ {
		if number == 2 {
			record(t, b, run.Topology(2), domain.Topology{Agents: 2, Edges: [][2]int{{0, 1}}})
			record(t, b, run.Slots(2), runs.Slots{Epoch: 2})
			record(t, b, run.Made(2), runs.Made{})
		}
		e := runs.Epoch{
			Number: number, Digest: fmt.Sprint("d", number),
			Rollouts: runs.NewResult("rollouts", "train", 2-number, 2-number, 3, ""),
		}
		val := runs.NewResult("trained-2", "val", 0, 0, 10, "")
		e.Val = &val
		for agent := range 2 {
			u := runs.Update{Agent: agent, Kept: "no pairs"}
			if agent == 0 || number == 1 {
				card := credit.Card{BySource: map[domain.Source]int{domain.SourceNone: 2}, Chosen: 40}
				u = runs.Update{
					Agent: agent, Steps: 4,
					Dataset: record(t, b, run.Dataset(number, agent), runs.Dataset{Agent: agent, Count: 2, Card: card}),
					Probe: domain.Probe{
						Prompts: 4, KL: 0.25, Entropy: 2.5, ParseRate: 1,
						Chosen: domain.LogProbs{Policy: -1, Parent: -2},
					},
				}
			}
			e.Updates = append(e.Updates, record(t, b, run.Update(number, agent), u))
		}
		record(t, b, run.Epoch(number), e)
	}

	return run
}

func TestWhatWasNotMeasuredIsAGapAndNotZero(t *testing.T) {
	var b store.Memory
	run := string(lacking(t, &b))
	x := newTab(t)
	for form, url := range forms(t, &b, run) {
		x.open(url, "document.querySelector('h1')")
		x.page("#/run/"+run, "× not measured")
		x.wait("!document.querySelector('.wait')")
		for title, want := range map[string]string{
			"Entropy of sampled answers, in nats": "agent 0: 1 2.5, 2 2.5; agent 1: 1 2.5, 2 not measured; " +
				"mean of those measured; the band is from the least to the greatest: 1 2.5",
			"KL against the parent policy, in nats": "agent 1: 1 0.25, 2 not measured",
			"Success by epoch":                      "rollouts: 1 100.0 %",
		} {
			label := fmt.Sprintf(
				"[...document.querySelectorAll('.chart svg')].map((e) => e.ariaLabel).find((l) => l?.startsWith(%q))",
				title)
			got, _ := x.eval(label).(string)
			if !strings.Contains(got, want) || strings.Contains(got, "rollouts: 1 100.0 %, 2") {
				t.Errorf("%s: the chart %s is %q, want %q in it and nothing for what has no episode",
					form, title, got, want)
			}
		}
		const gap = "agent 1, epoch 2: not measured: no pairs"
		if got := x.eval("document.querySelector('.gap title').textContent"); got != gap {
			t.Errorf("%s: a gap has the title %q, want the reason", form, got)
		}
		cells := func(table, row string) string {
			return x.eval(fmt.Sprintf(`[...document.querySelectorAll('figure.table')]
				.find((f) => f.innerText.startsWith(%q))
				.querySelectorAll('tbody tr')[%s].innerText.replace(/\s+/g, ' ')`, table, row)).(string)
		}
		if got := cells("Epochs", "1"); !strings.HasPrefix(got, "2 – 0 – ") {
			t.Errorf("%s: the row of epoch 2 is %q, want no rates", form, got)
		}
		x.page("#/run/"+run+"/updates", "displaced")
		if got := cells("Updates", "3"); strings.Contains(got, "0.00") || strings.Contains(got, "0.0 %") {
			t.Errorf("%s: the update of agent 1 in epoch 2 is %q, want no figure of its probe", form, got)
		}
		if got := cells("Updates", "0"); !strings.Contains(got, "-1.00 (+1.00) – 2.50 0.25 100.0 % – taken") {
			t.Errorf("%s: an update without rejected answers is %q, want neither their log π nor displaced", form, got)
		}
		x.page("#/run/"+run+"/data", "style AUC")
		if got := cells("Data cards", "0"); !strings.Contains(got, "40 – – none 2") {
			t.Errorf("%s: a data card without rejected answers is %q, want no style AUC", form, got)
		}
		x.quiet()
	}
}

// TestUnfinishedEpisodesCountInNoRate covers the lists, in which slot 1 is solved, 2 failed, 3 is not solved and 4
// open.
func TestUnfinishedEpisodesCountInNoRate(t *testing.T) {
	var b store.Memory
	run := string(crafted(t, &b))
	x := newTab(t)
	x.open(writeReport(t, &b, run), "document.querySelector('h1')")
	x.page("#/run/"+run+"/episodes", "4 of 4 episodes, 50.0 % solved")
	x.page("#/run/"+run, "Success by template")
	x.wait("[...document.querySelectorAll('.health tbody tr')].some((r) => r.innerText.startsWith('tap') && " +
		"r.innerText.includes('50.0 %'))")
	x.wait("[...document.querySelectorAll('.health tbody tr')].some((r) => r.innerText.startsWith('drag') && " +
		"r.innerText.includes('–'))")
	x.quiet()
}

func TestChartsThatAreTrueByConstructionAreHidden(t *testing.T) {
	for _, c := range []struct {
		name  string
		label domain.Label // of the cell on which the critic of crafted differs from the judge
		want  bool
	}{{"a critic that differs", 1, true}, {"an oracle", 0, false}} {
		t.Run(c.name, func(t *testing.T) {
			var b store.Memory
			run := crafted(t, &b, func(s *spec.Spec) { s.Critic.Model = spec.RoleOracle })
			b.Damage(run.Credits(1, 1).Key, nil)
			record(t, &b, run.Credits(1, 1), runs.Credits{
				Steps: []domain.Credit{{Step: 1, Labels: []domain.Label{1, 0, c.label, 1}}},
			})
			x := newTab(t)
			x.open(writeReport(t, &b, string(run)), "document.querySelector('h1')")
			x.page("#/run/crafted", "Success by template")
			x.wait("!document.querySelector('.wait')")
			chart := "!!document.querySelector('[aria-label^=\"Cells on which critic and judge agree\"]')"
			if got := x.eval(chart); got != c.want {
				t.Errorf("the chart of agreement is shown: %v, want %v", got, c.want)
			}
		})
	}
}
