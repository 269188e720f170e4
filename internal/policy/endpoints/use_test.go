package endpoints_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

func TestAHelperOfNoUseIsNoticedFromItsTwentiethAnswerOn(t *testing.T) {
	for name, x := range map[string]struct {
		role    string
		share   float64
		useless func(n int) bool
		want    int // calls that are made, out of 60
	}{
		"a critic of no use":               {prompts.Critic, 0.1, func(int) bool { return true }, 20},
		"a summariser that is often empty": {prompts.Summariser, 0.1, func(n int) bool { return n%5 == 0 }, 20},
		"a critic that breaks later":       {prompts.Critic, 0.1, func(n int) bool { return n >= 30 }, 34},
		"a critic within the share":        {prompts.Critic, 0.1, func(n int) bool { return n%10 == 9 }, 60},
		"no share of answers is too much":  {prompts.Critic, 1, func(int) bool { return true }, 60},
		"an agent of no use":               {prompts.Agent, 0.1, func(int) bool { return true }, 20},
		"an agent that learns nothing":     {prompts.Agent, 0.1, func(n int) bool { return n%20 > 0 }, 60},
	} {
		b, srv, s := &store.Memory{}, &server{}, run()
		s.FailedShare = x.share
		beginRun(t, b, s)
		m, _, err := connect(b, srv).For(s, "judge", x.role)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 60 {
			res, err := m.Complete(t.Context(), chat.Request{User: "u", Seed: uint64(n)})
			if err != nil {
				break
			}
			if x.useless(n) {
				res.Read("no list")
			} else {
				res.Read("")
			}
		}
		if len(srv.requests) != x.want {
			t.Errorf("%s: it was asked %d times, want %d", name, len(srv.requests), x.want)
		}
	}
}

func TestAPersonLetsAHelperOfNoUseGoOn(t *testing.T) {
	b, srv, s := &store.Memory{}, &server{}, run()
	m := model(t, connect(b, srv), s)
	seed := uint64(0)
	ask := func() error {
		res, err := m.Complete(endpoints.InEpoch(t.Context(), 3), chat.Request{User: "u", Seed: seed})
		if err == nil {
			seed++
			res.Read("no list")
		}

		return err
	}
	stopped := func(when string) {
		t.Helper()
		for range 20 {
			if err := ask(); err != nil {
				t.Fatalf("%s: Complete = %v, want an answer", when, err)
			}
		}
		err := ask()
		if fault.KindOf(err) != fault.Invalid {
			t.Fatalf("%s: Complete = %v, want an invalid fault", when, err)
		}
		for _, want := range []string{
			"models.judge is of no use as the critic", "20 of its 20 answers in epoch 3", "no list; ", ": no list. ",
			"`collabui resume r`", "`collabui resume r --accept-failed --why TEXT`",
			"`collabui set r critic.model=NAME`",
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the fault is %q, want it to contain %q", when, err, want)
			}
		}
	}
	stopped("at first")
	if err := ask(); fault.KindOf(err) != fault.Invalid {
		t.Errorf("before a person does something, Complete = %v, want an invalid fault", err)
	}

	if _, err := runs.Run("r").Append(t.Context(), b, runs.Change{Verb: runs.VerbResume, Who: "ann"}); err != nil {
		t.Fatal(err)
	}
	stopped("after it was resumed")

	accept := func() (runs.Decision, error) { return runs.Decision{Who: "ann", Why: "w"}, nil }
	if _, _, err := runs.Run("r").Accepted(3).Record(t.Context(), b, accept); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := ask(); err != nil {
			t.Fatalf("after a person accepted what is missing, Complete = %v, want an answer", err)
		}
	}
}
