package episode_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/episode"
)

func TestABrokenEnvironmentIsReplacedUntilTheLimit(t *testing.T) {
	for name, c := range map[string]struct {
		breaks scripted.Fault
		tries  int
		kind   fault.Kind // kind of the final error; empty if there is no error
	}{
		"it never breaks": {scripted.Fault{}, 1, ""},
		"two break":       {scripted.Fault{Template: "a", Step: 2, Kind: scripted.Void, Times: 2}, 3, ""},
		"all but one break": {
			scripted.Fault{Template: "a", Step: 2, Kind: scripted.Void, Times: 4}, 5, "",
		},
		"all break": {scripted.Fault{Template: "a", Step: 2, Kind: scripted.Void, Times: 100}, 5, fault.Void},
		"the task is at fault": {
			scripted.Fault{Template: "a", Step: 0, Kind: scripted.Invalid, Times: 100}, 1, fault.Invalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				suite := &scripted.Suite{Places: 1} // an environment that stays open would block the next one
				suite.Break(c.breaks)
				tries := 0
				err := episode.In(t.Context(), suite, domain.FamilyMobile, func(env envadapters.Environment) error {
					tries++
					_, err := episode.Player{Decide: expert(env)}.Play(t.Context(), env, task())
					return err
				})

				if tries != c.tries {
					t.Errorf("In played %d times, want %d", tries, c.tries)
				}
				if (err == nil) != (c.kind == "") || err != nil && fault.KindOf(err) != c.kind {
					t.Errorf("In = %v, want a fault of kind %q", err, c.kind)
				}
			})
		})
	}
}

func TestAnEpisodeThatIsCancelledIsNotPlayedAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err := episode.In(ctx, &scripted.Suite{}, domain.FamilyMobile, func(envadapters.Environment) error {
		tries++
		cancel()
		return fault.New(fault.Void, "the environment broke")
	})
	if tries != 1 || fault.KindOf(err) != fault.Void {
		t.Errorf("In played %d times and returned %v, want once and the void fault", tries, err)
	}
}

func TestAPanicBreaksOneEnvironment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		suite := &scripted.Suite{Places: 1} // an environment that stays open would block the next one
		err := episode.In(t.Context(), suite, domain.FamilyMobile, func(envadapters.Environment) error {
			var none *domain.Touch
			none.At[0]++
			return nil
		})
		if fault.KindOf(err) != fault.Void || !strings.Contains(err.Error(), "TestAPanicBreaksOneEnvironment") ||
			!strings.Contains(err.Error(), "nil pointer") {
			t.Errorf("In = %v, want a void fault that names the place and the panic", err)
		}
	})
}

func TestAgentsOfTheOtherFamilyPlayThroughATranslation(t *testing.T) {
	for family, id := range map[domain.Family]string{domain.FamilyMobile: "", domain.FamilyWeb: "0"} {
		t.Run(string(family), func(t *testing.T) {
			err := episode.In(t.Context(), &scripted.Suite{}, family, func(env envadapters.Environment) error {
				tr, err := env.Reset(t.Context(), task())
				if err != nil {
					return err
				}
				if got := tr.Observation.Elements[0].ID; got != id {
					t.Errorf("the first element has the ID %q, want %q", got, id)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
