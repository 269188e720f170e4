package workflows_test

import (
	"context"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/test/kit/testrun"
)

// speaking are policies that point at the button that the goal names if they see it, act on a pointer, and otherwise
// pass, tell something or act at random.
type speaking struct{ fakepolicy.Policies }

var (
	goalButton  = regexp.MustCompile(`(?m)^Goal: Tap (\S+)`)
	shownButton = regexp.MustCompile(`(?m)^(\d+) button (\S+)$`)
	pointedAt   = regexp.MustCompile(`"action_type":"point","index":(\d+)`)
)

func (speaking) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	out := chat.Response{Usage: domain.Usage{Prompt: 1, Answer: 1}}
	for k := range max(1, request.N) {
		action := speak(request, k)
		if !strings.Contains(request.User, "you may speak") {
			action = domain.Action{Type: domain.ActionClick}.At(k % 6)
		}
		text, err := fakepolicy.Render(action)
		if err != nil {
			return out, err
		}
		out.Texts = append(out.Texts, text)
		out.LogProbs = append(out.LogProbs, -1-float64(k))
	}

	return out, ctx.Err()
}

// speak returns what an agent answers first, second and so on to a request.
func speak(request chat.Request, k int) domain.Action {
	random := domain.Rand(request.Seed, request.Model, request.User, k)
	act := domain.Action{Type: domain.ActionClick}
	if goal := goalButton.FindStringSubmatch(request.User); goal != nil {
		for _, button := range shownButton.FindAllStringSubmatch(request.User, -1) {
			if index, _ := strconv.Atoi(button[1]); button[2] == goal[1] && random.IntN(4) > 0 {
				if random.IntN(2) == 0 {
					act.Type = domain.ActionPoint
				}

				return act.At(index)
			}
		}
	}
	if message := pointedAt.FindStringSubmatch(request.User); message != nil {
		index, _ := strconv.Atoi(message[1])

		return act.At(index)
	}
	switch random.IntN(6) {
	case 0:
		return act.At(random.IntN(6))
	case 1:
		return domain.Action{Type: domain.ActionTell, Text: "tap"}
	}

	return domain.Action{Type: domain.ActionPass}
}

// talking returns a specification of agents that see one region each, and speak.
func talking() spec.Spec {
	s := testrun.Tiny()
	s.Slots = 16
	s.Views.Kind = agents.RegionViews
	s.Speech = true
	s.Reads = agents.ReadBack
	s.Pairs.Kind = spec.PairsResist
	s.Train.SFT = 0.5

	return s
}

// oblivious is a bucket that fails the first write of the labels of every slot.
type oblivious struct {
	store.Bucket

	mu   sync.Mutex
	seen map[string]bool
}

func (b *oblivious) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	b.mu.Lock()
	first := strings.HasSuffix(key, "/credit.json") && !b.seen[key]
	b.seen[key] = true
	b.mu.Unlock()
	if first {
		return false, fault.New(fault.Transient, "the worker dies")
	}

	return b.Bucket.PutOnce(ctx, key, body)
}

func TestARunLearnsFromWhatMessagesChange(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, talking())
	r.Deps.Chat = speaking{}
	r.Suite.Length = 1
	end := play(t, r)

	sources := map[domain.Source]int{}
	labels := map[string]map[domain.Label]int{}
	run := runs.Run(r.Spec.Name)
	for slot := 1; slot <= r.Spec.Slots; slot++ {
		credits := read(t, r, run.Credits(1, slot))
		steps, err := read(t, r, run.Attempt(1, slot, 1)).ReadSteps(t.Context(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		for i, credit := range credits.Steps {
			countLabels(labels, steps[i].Decision, credit)
			if len(credit.Effects) > 0 && len(credits.Heard) == 0 {
				t.Errorf("slot %d has effects, and no calls", slot)
			}
		}
		for _, pair := range read(t, r, run.Pairs(1, slot)).Pairs {
			sources[pair.Source]++
		}
	}
	for _, act := range []string{domain.ActionPoint, domain.ActionPass} {
		if labels[act][domain.Positive] == 0 {
			t.Errorf("no %s is labelled 1: %v", act, labels)
		}
	}
	if labels[domain.ActionPass][domain.Negative] == 0 {
		t.Errorf("no pass is labelled 0: %v", labels)
	}
	for _, source := range []domain.Source{
		domain.SourceInstead, domain.SourceResist, domain.SourceAdversary, domain.SourceNone,
	} {
		if sources[source] == 0 {
			t.Errorf("no row of source %s: %v", source, sources)
		}
	}

	again := testrun.New(t, talking())
	again.Deps.Chat = speaking{}
	again.Suite.Length = 1
	again.Deps.Bucket = &oblivious{Bucket: again.Bucket, seen: map[string]bool{}}
	if got := play(t, again).FinalDigest; got != end.FinalDigest {
		t.Errorf("a run that labels every slot twice ends with %s, want %s", got, end.FinalDigest)
	}
	for slot := 1; slot <= r.Spec.Slots; slot++ {
		want := read(t, r, run.Credits(1, slot))
		if got := read(t, again, run.Credits(1, slot)); !reflect.DeepEqual(got.Heard, want.Heard) {
			t.Errorf("slot %d that was labelled twice has other calls than one that was labelled once", slot)
		}
	}
}

// countLabels counts the labels of a step's acts of speech.
func countLabels(labels map[string]map[domain.Label]int, decision domain.Decision, credit domain.Credit) {
	for i, cell := range decision.Cells {
		if cell.Action == nil || !cell.Action.Speech() {
			continue
		}
		if labels[cell.Action.Type] == nil {
			labels[cell.Action.Type] = map[domain.Label]int{}
		}
		labels[cell.Action.Type][credit.Labels[i]]++
	}
}

func TestRightAnswersDoNotMakeUpForPairs(t *testing.T) {
	t.Parallel()
	s := talking()
	r := testrun.New(t, s)
	r.Deps.Chat = speaking{}
	r.Suite.Length = 1
	play(t, r)
	run := runs.Run(s.Name)
	mostRows, mostPairs := 0, 0 // of one agent
	for agent := range s.Agents {
		set := read(t, r, run.Dataset(1, agent))
		mostRows = max(mostRows, set.Count)
		mostPairs = max(mostPairs, set.Count-set.Card.Right)
	}
	if mostRows <= mostPairs {
		t.Fatalf("no agent has more than %d rows, want one for this test", mostPairs)
	}

	s.Pairs.MinPairs = mostPairs + 1
	again := testrun.New(t, s)
	again.Deps.Chat = speaking{}
	again.Suite.Length = 1
	play(t, again)
	for agent := range s.Agents {
		if update := read(t, again, run.Update(1, agent)); !strings.Contains(update.Kept, "fewer than min_pairs") {
			t.Errorf("agent %d has an update of too few pairs: %q, want it to keep its policy", agent, update.Kept)
		}
	}
}

// TestACellThatIsSampledAgainHasItsAnswer uses the embedded policy, behind its server.
func TestACellThatIsSampledAgainHasItsAnswer(t *testing.T) {
	t.Parallel()
	s := talking()
	s.Slots = 3
	r := testrun.LearningWithBase(t, s)
	play(t, r)
	run := runs.Run(s.Name)
	slots := read(t, r, run.Slots(1))
	topology := read(t, r, run.Topology(1))
	cells := 0
	for slot := 1; slot <= s.Slots; slot++ {
		episode := read(t, r, run.Attempt(1, slot, 1))
		steps, err := episode.ReadSteps(t.Context(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		decoding, err := rules.Decoding(r.Spec, slots.System.Digests(), topology, episode.Slot.Seed)
		if err != nil {
			t.Fatal(err)
		}
		decoding.Template = rules.Bound(r.Spec, decoding.Template, testrun.Wording.Over)
		for _, step := range steps {
			view := agents.View{Goal: step.Goal, History: step.History, Observation: step.Observation}
			seed := domain.Seed(episode.Slot.Seed, "step", step.Number)
			for _, cell := range step.Decision.Cells {
				request, err := decoding.Again(view, step.Decision, seed, cell.Agent, cell.Round, nil)
				if err != nil || request.User != cell.Prompt {
					t.Fatalf("the prompt of agent %d in round %d, %v:\n%s\nwant\n%s", cell.Agent, cell.Round, err,
						request.User, cell.Prompt)
				}
				response, err := r.Deps.Chat.Complete(t.Context(), request)
				if err != nil || response.Texts[0] != cell.Text {
					t.Fatalf("agent %d answers %q, %v, in round %d, want %q", cell.Agent, response.Texts, err,
						cell.Round, cell.Text)
				}
				cells++
			}
		}
	}
	if cells < 100 {
		t.Errorf("%d cells were compared, want more", cells)
	}
}
