package recheck

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// TestACriticIsAskedAgainAboutItsOwnGrades lets the oracle, then one model and then another grade an epoch of a run.
func TestACriticIsAskedAgainAboutItsOwnGrades(t *testing.T) {
	s := spec.Default()
	s.Name, s.Epochs, s.Slots = "x", 3, 1
	s.Models = map[spec.Role]spec.Model{"first": {Model: "a"}, "second": {Model: "b"}, "third": {Model: "c"}}
	b := &store.Memory{}
	for epoch, critic := range []spec.Role{spec.RoleOracle, "first", "second"} {
		s.Critic.Model = critic
		c := runs.Credits{Critic: rules.CriticName(s, catalog.All{}), Steps: make([]domain.Credit, 2)}
		if critic != spec.RoleOracle {
			c.Audit = make([]credit.Audit, 2)
		}
		if _, _, _, err := runs.Run("x").Credits(epoch+1, 1).Write(t.Context(), b, c); err != nil {
			t.Fatal(err)
		}
	}

	s.Critic.Model = "second"
	all, err := graded(t.Context(), b, s, rules.CriticName(s, catalog.All{}))
	if err != nil || len(all) != 2 || all[0].epoch != 3 || all[1].step != 1 {
		t.Errorf("graded = %+v, %v, want the two steps of epoch 3", all, err)
	}

	s.Critic.Model = "third"
	e := &endpoints.Endpoints{Bucket: b, Connect: func(spec.Model) (chat.Model, error) { return nil, nil }}
	if _, err := Critic(t.Context(), e, s, catalog.All{}, 9); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Critic = %v, want an invalid fault: this critic has graded nothing", err)
	}
}
