package infer

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/prompts"
	"github.com/collabui/collabui/internal/system"
)

func TestAPromptReadAndRenderedAgainIsTheSame(t *testing.T) {
	long := strings.Repeat("word ", 60)
	target := 1
	for _, v := range []system.View{
		{Goal: "g"},
		{Goal: long + long, History: []string{"1 click button Send", "2 " + long}, Observation: domain.Observation{Elements: []domain.Element{
			{Index: 0, Role: "heading", Visible: true}, {Index: 2, Role: "field", Text: long, Desc: long, Editable: true, Value: long, State: []string{"focused"}, Visible: true},
			{Index: 3, Role: "field", Editable: true, Visible: true}, {Index: 4, Role: "item", Text: "History: none", Visible: true}, {Index: 5, Text: "no role", Visible: true},
			{Index: 7, Role: "label", Text: "Screen:", Target: &target, Visible: true}, {Index: 8, Role: "button", Text: "hidden"}}}},
	} {
		for _, family := range []domain.Family{domain.FamilyMobile, domain.FamilyWeb} {
			if family == domain.FamilyWeb {
				for i := range v.Observation.Elements {
					v.Observation.Elements[i].ID = []string{"A", "-", "-"}[i%3]
				}
			}
			text, err := prompts.Default(prompts.Agent)
			if err != nil {
				t.Fatal(err)
			}
			p, err := prompts.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			tmpl, err := system.NewTemplate(p, family)
			if err != nil {
				t.Fatal(err)
			}
			want, err := tmpl.User(v, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			read, err := ParseView(want, family)
			if err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			if got, err := tmpl.User(read, "", nil); err != nil || got != want {
				t.Errorf("%s became %s, %v", want, got, err)
			}
		}
	}
}

func TestElementsMayLeaveOutIndexAndVisible(t *testing.T) {
	v, err := ParseView(`{"goal":"g","elements":[{"role":"a"},{"role":"b","visible":false},{"i":7,"role":"c","visible":true}]}`, domain.FamilyMobile)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(system.Lines(v.Observation), "|"); got != "0 a|7 c" {
		t.Error(got)
	}
}

func FuzzParseView(f *testing.F) {
	for _, s := range []string{"", "{", "Goal: g\nHistory: none\nScreen:\n0 button Send", `{"goal":"g","elements":[{"i":3,"role":"a"}]}`, "Goal: g\nHistory:\nScreen:", "Goal: g\nHistory:\nx\nScreen:\n0  \n1 \t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseView(s, domain.FamilyMobile)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Error(err)
			}
			return
		}
		if _, err := system.Default.User(v, "", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestOnlyThisMachineIsAnsweredWithoutAKey(t *testing.T) {
	for addr, says := range map[string]string{":0": EnvKey, "0.0.0.0:0": EnvKey, "[::]:0": EnvKey, "example.org:80": EnvKey, "8080": "expected HOST:PORT"} {
		if l, err := Listen(addr, ""); err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v %v", addr, l, err)
		}
	}
	for addr, key := range map[string]string{"127.0.0.1:0": "", "localhost:0": "", ":0": "secret"} {
		l, err := Listen(addr, key)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if again, err := Listen(l.Addr().String(), key); err == nil || !strings.Contains(err.Error(), "choose another") {
			t.Errorf("a port that is taken: %v %v", again, err)
		}
		_ = l.Close()
	}
}

func TestWhatIsBeingAnsweredIsFinished(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		served <- Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(begun)
			time.Sleep(100 * time.Millisecond)
			w.WriteHeader(http.StatusTeapot)
		}))
	}()
	answered := make(chan error, 1)
	go func() {
		res, err := http.Get("http://" + l.Addr().String())
		if err == nil && res.StatusCode != http.StatusTeapot {
			err = fault.New(fault.Fatal, "%s", res.Status)
		}
		answered <- err
	}()
	<-begun
	end()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := Serve(t.Context(), l, nil); err == nil {
		t.Error("a closed listener serves")
	}
}
