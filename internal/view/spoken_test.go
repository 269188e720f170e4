package view_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// spoken writes the run "spoken", whose three agents see different elements and may speak. Slot 1 has two steps: in the
// first one, messages of hostile texts have effects; in the second one, nobody acts. An evaluation has the same steps.
func spoken(t testing.TB, b store.Bucket) runs.Run {
	t.Helper()
	s := spec.Default()
	s.Name, s.Agents, s.Rounds, s.Epochs, s.Slots, s.Speech = "spoken", 3, 2, 1, 1, true
	s.Views = agents.Views{Kind: agents.RegionViews}
	s.Decoding.Temperatures = []float64{0.5}
	run := runs.Run(s.Name)
	record(t, b, run.Spec(), s)
	record(t, b, run.Topology(1), domain.Topology{Agents: 3, Edges: [][2]int{{0, 1}, {0, 2}}})
	task := domain.Task{Template: "code", Split: "train", Seed: 7, MaxSteps: 3}
	slot := domain.Slot{Epoch: 1, Number: 1, Task: task}
	record(t, b, run.Slots(1), runs.Slots{Epoch: 1, Slots: []domain.Slot{slot}})
	record(t, b, run.Made(0), runs.Made{})
	record(t, b, run.Made(1), runs.Made{})
	record(t, b, run.Base(), runs.Base{})

	first, second := spokenStep(1), spokenStep(2)
	episode := runs.Episode{Slot: slot, Attempt: 1, Goal: first.Goal, Outcome: domain.Outcome{Steps: 2}}
	record(t, b, run.Start(1, 1, 1), runs.Start{Slot: slot, Attempt: 1})
	for _, step := range []domain.Step{first, second} {
		ref := record(t, b, run.Step(1, 1, 1, step.Number), runs.Step{Step: step})
		episode.Steps = append(episode.Steps, ref)
	}
	record(t, b, run.Attempt(1, 1, 1), episode)

	click := say(domain.Action{Type: domain.ActionClick}.At(1))
	record(t, b, run.Credits(1, 1), runs.Credits{Critic: "oracle", Steps: []domain.Credit{
		{Step: 1, Labels: []domain.Label{1, 0, 0, 1, 0, 1}, Effects: []domain.Effect{
			{Cell: 0, Readers: []domain.Reading{
				{Cell: 3, Text: "wait" + hostile[0], With: 1, Without: 0},
				{Cell: 5, Text: say(domain.Action{Type: domain.ActionBack}), With: 1, Without: 0},
			}},
			{Cell: 1, Instead: []domain.Alternative{
				{Text: click, Label: 1}, {Text: "nothing" + hostile[1], Label: 0, Readers: []domain.Reading{
					{Cell: 3, Text: click, With: 1, Without: 1},
				}},
			}},
			{Cell: 99}, {Cell: 2, Readers: []domain.Reading{{Cell: -1, Text: "x"}}},
		}},
		{Step: 2, Labels: []domain.Label{-1, -1, -1, -1, -1, -1}},
	}})

	const id = "final/trained-3/val"
	played := runs.EvalEpisode{Goal: first.Goal, Task: task, Outcome: domain.Outcome{Steps: 2}}
	for _, step := range []domain.Step{first, second} {
		played.Steps = append(played.Steps, runs.NewEvalStep(step.Goal, step.Observation, step.Decision))
	}
	record(t, b, run.EvalEpisode(id, 1), played)
	record(t, b, run.Result(id), runs.NewResult("trained-3", "val", 0, 1, 0, "plain"))

	return run
}

// say returns an answer with an action.
func say(action domain.Action) string { return "Reason: r" + hostile[0] + "\nAction: " + action.JSON() }

// spokenStep returns a step of the run "spoken". Cells are by agent and round: agent 0 tells and passes, agent 1 points
// and acts, agent 2 passes and acts. In step 2, none of them acts.
func spokenStep(number int) domain.Step {
	screen := domain.Observation{Width: 360, Height: 640}
	for i, text := range []string{"code K42", "Locker", "Gate", "notes"} {
		screen.Elements = append(screen.Elements, domain.Element{
			Index: i, Role: "button", Text: text, Visible: true,
			Bounds: domain.Rect{10 + 180*(i%2), 20 + 300*(i/2), 160, 60},
		})
	}
	acts := []domain.Action{
		{Type: domain.ActionTell, Text: "the code is K42" + hostile[0]}, {Type: domain.ActionPass},
		domain.Action{Type: domain.ActionPoint}.At(1), domain.Action{Type: domain.ActionClick}.At(1),
		{Type: domain.ActionPass}, domain.Action{Type: domain.ActionClick}.At(1),
	}
	step := domain.Step{Number: number, Goal: "Open the locker", Observation: screen}
	reader := agents.Reader{Speech: true}
	for i, act := range acts {
		if number == 2 && act.Type == domain.ActionClick {
			act = domain.Action{Type: domain.ActionPass}
		}
		step.Decision.Cells = append(step.Decision.Cells, reader.Cell(i/2, i%2, say(act), "Goal: g", screen))
	}
	step.Decision.Cells[5].Told = []int{1}
	step.Decision.Seen = [][]int{{0}, {1, 2}, {3}}
	step.Decision.Executed = *step.Decision.Cells[3].Action
	vote := domain.Vote{Rule: "none"}
	if number == 1 {
		vote = domain.Vote{Canonical: step.Decision.Cells[3].Canonical, Votes: 2, Rule: "majority"}
	}
	step.Decision.AllRound = vote
	step.Decision.LastOnly = vote

	return step
}

// mainText returns the text of the page without repeated white space.
func mainText(x *tab) string {
	x.t.Helper()

	return x.eval("document.querySelector('main').textContent.replace(/\\s+/g, ' ')").(string)
}

func TestPagesShowWhoSawWhatAndSpeechThatHasNoVote(t *testing.T) {
	var b store.Memory
	run := string(spoken(t, &b))
	x := newTab(t)
	for form, url := range forms(t, &b, run) {
		x.open(url, "document.querySelector('h1')")
		for _, page := range []string{"#/episode/spoken/1/1", "#/evaluation/spoken/final%2Ftrained-3%2Fval/1"} {
			hash := page + "/1/2.1"
			x.page(hash, "Agent 2 saw")
			text := mainText(x)
			for _, want := range []string{
				"Agent 2 saw 1 of 4 elements", "3 button notes", "Peers named to it:1 button Locker",
				"Votes: 2 of 2; more votes than any other; 4 of the answers are speech, which has no vote",
				"tells \"the code is K42<img src=x onerror=", "points at button \"Locker\"",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%s, %s: the page is %.3000q, want %q in it", form, hash, text, want)
				}
			}
			for selector, want := range map[string]float64{
				".look .box.unseen": 3, ".look .box.told": 1, ".matrix .speech": 4, ".votes tr.won": 1,
				".matrix .won": 2,
			} {
				if got := x.eval("document.querySelectorAll('" + selector + "').length"); got != want {
					t.Errorf("%s, %s: the page has %v of %s, want %v", form, hash, got, selector, want)
				}
			}
		}
		x.page("#/episode/spoken/1/1/2", "Nobody acted: all answers are speech")
		if n := x.eval("document.querySelectorAll('.matrix .won, .votes').length"); n != 0.0 {
			t.Errorf("%s: the page has %v marks of what was executed, want none, because nobody acted", form, n)
		}
		if text := mainText(x); !strings.Contains(text, "Decision in step 2: nobody acted") {
			t.Errorf("%s: the page is %.2000q, want that nobody acted in its heading", form, text)
		}
		if n := x.eval("document.querySelectorAll('main img, main iframe, main b').length"); n != 0.0 {
			t.Errorf("%s: %v elements came from texts, want none", form, n)
		}
		x.quiet()
	}
}

func TestPagesShowWhyMessagesMattered(t *testing.T) {
	var b store.Memory
	run := string(spoken(t, &b))
	x := newTab(t)
	for form, url := range forms(t, &b, run) {
		x.open(url, "document.querySelector('h1')")
		x.page("#/episode/spoken/1/1", "Why messages mattered")
		text := mainText(x)
		for _, want := range []string{
			"2 more readers are right with it", "agent 1, round 2+ acts rightclick button \"Locker\"",
			"− gives no answer that parses(no action)wait" + hostile[0], "1 of 2 other answers would have helped",
			"Instead: click button \"Locker\" (it would have helped)", "(it would not have helped)",
			"with the pass, as recorded", "it has no readers",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page of the episode is %.6000q, want %q in it", form, text, want)
			}
		}
		x.page("#/run/spoken/messages", "Messages that mattered")
		x.wait("!document.querySelector('.wait')")
		text = mainText(x)
		first := strings.Index(text, "2 more readers are right with it")
		second := strings.Index(text, "1 of 2 other answers would have helped")
		if first < 0 || second < first {
			t.Errorf("%s: the list of messages is %.2000q, want the one with the larger effect first", form, text)
		}
		x.eval("document.querySelector('tbody a').click()")
		x.wait("location.hash === '#/episode/spoken/1/1/1/0.0'")
		if n := x.eval("document.querySelectorAll('main img, main iframe, main b').length"); n != 0.0 {
			t.Errorf("%s: %v elements came from texts, want none", form, n)
		}
		x.quiet()
	}
}

func TestTextsOfMessagesAreBounded(t *testing.T) {
	var b store.Memory
	run := spoken(t, &b)
	credits, _, err := run.Credits(1, 1).Must(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	credits.Steps[0].Effects[0].Readers[0].Text = strings.Repeat("中", 100_000)
	other := runs.Run("long")
	s, _, err := run.Spec().Must(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	s.Name = string(other)
	record(t, &b, other.Spec(), s)
	record(t, &b, other.Topology(1), domain.Topology{Agents: 3})
	play(t, &b, other, domain.Slot{Epoch: 1, Number: 1}, 1, spokenStep(1))
	record(t, &b, other.Credits(1, 1), credits)

	step := at(t, document(t, library(&b, 1), "episodes/long/1/1"), "1", "steps", 0)
	text := at(t, step, "messages", 0, "readers", 0, "without", "text").(string)
	if n := len([]rune(text)); n != 4001 {
		t.Errorf("a text of 100,000 characters has %d characters in a document, want 4,000 and an ellipsis", n)
	}
}

func TestFullViewsWithoutSpeechAddNothingToDocuments(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	step := hostileStep()
	step.Decision.Seen = [][]int{{0, 1}, {0, 1}}
	play(t, &b, run, domain.Slot{Epoch: 1, Number: 5}, 1, step)
	d := at(t, document(t, library(&b, 1), "episodes/crafted/1/5"), "5", "steps", 0).(map[string]any)
	for _, key := range []string{"divided", "nobody_acted", "messages"} {
		if value, ok := d[key]; ok {
			t.Errorf("the document has %s: %v, want no such key", key, value)
		}
	}
	if got := runs.NewEvalStep("g", step.Observation, step.Decision).Seen; got != nil {
		t.Errorf("the record of an evaluated step has views %v, want none", got)
	}
	x := newTab(t)
	x.open(serve(t, &b, string(run)), "document.querySelector('h1')")
	x.page("#/run/crafted", "Specification")
	if text := mainText(x); strings.Contains(text, "Messages") {
		t.Errorf("the run's page is %.500q, want no page of messages, because agents may not speak", text)
	}
}
