package episode_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// noter is a policy that waits, and notes the number of its calls.
type noter struct{ calls int }

func (n *noter) Complete(context.Context, chat.Request) (chat.Response, error) {
	n.calls++
	text := agents.WithNote("Reason: r\nAction: {\"action_type\":\"wait\"}", fmt.Sprintf("fact %d", n.calls))

	return chat.Response{Texts: []string{text}}, nil
}

func TestNotesOfAgentsStayInTheHistoryOfAnEvaluation(t *testing.T) {
	for _, notes := range []spec.NoteWriter{spec.NotesPolicy, spec.NotesNone} {
		t.Run(string(notes), func(t *testing.T) {
			s := spec.Default()
			s.Trainer.Name = "llamafactory"
			s.Summariser.Notes = notes
			s.Agents = 1
			s.Rounds = 1
			var third []string
			evaluation := episode.Evaluation{
				Spec: s, Split: domain.SplitVal, Model: &noter{},
				System: rules.EvalSystem{
					Name: "one", Policies: []string{"p"}, Rounds: 1, Temperature: []float64{0}, TopP: 1,
				},
				Decided: func(_ context.Context, turn episode.Turn, _ agents.Config, _ domain.Decision) error {
					if turn.Number == 3 {
						third = turn.History
					}

					return nil
				},
			}
			env := open(t, &scripted.Suite{})
			player, _, err := evaluation.Player(env, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := player.Play(t.Context(), env, task()); err != nil {
				t.Fatal(err)
			}
			const failed = " wait failed: only click does anything here"
			want := []string{"1" + failed, "2" + failed}
			if notes == spec.NotesPolicy {
				want = append(want, "Notes: fact 1 | fact 2")
			}
			if !slices.Equal(third, want) {
				t.Errorf("the history of the third turn is %q, want %q", third, want)
			}
		})
	}
}

func TestANoteOfTheSummariserTakesThePlaceOfTheAgents(t *testing.T) {
	var second []string
	player := episode.Player{
		Decide: func(_ context.Context, turn episode.Turn) (domain.Action, error) {
			second = turn.History

			return domain.Action{Type: domain.ActionWait}, map[bool]error{true: episode.ErrStop}[turn.Number == 2]
		},
		Summarise: func(context.Context, episode.Executed) (string, error) {
			return "1 waited\nNote: Ann has 4711", nil
		},
		Note: func() string { return "nothing" },
	}
	if _, err := player.Play(t.Context(), open(t, &scripted.Suite{}), task()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1 waited", "Notes: Ann has 4711"}; !slices.Equal(second, want) {
		t.Errorf("the history is %q, want %q", second, want)
	}
}
