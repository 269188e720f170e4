package infer

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
)

func TestAPromptReadAndRenderedAgainIsTheSame(t *testing.T) {
	long := strings.Repeat("word ", 60)
	target := 1
	for _, v := range []agents.View{
		{Goal: "g"},
		{Goal: long + long, History: []string{"1 click button Send", "2 " + long}, Observation: domain.Observation{
			Elements: []domain.Element{
				{Index: 0, Role: "heading", Visible: true},
				{
					Index:    2,
					Role:     "field",
					Text:     long,
					Desc:     long,
					Editable: true,
					Value:    long,
					State:    []string{"focused"},
					Visible:  true,
				},
				{Index: 3, Role: "field", Editable: true, Visible: true},
				{Index: 4, Role: "item", Text: "History: none", Visible: true},
				{Index: 5, Text: "no role", Visible: true},
				{Index: 7, Role: "label", Text: "Screen:", Target: &target, Visible: true},
				{Index: 8, Role: "button", Text: "hidden"},
			},
		}},
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
			tmpl, err := agents.NewTemplate(p, family, false)
			if err != nil {
				t.Fatal(err)
			}
			want, err := tmpl.User(v, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			read, err := ParseView(want, family)
			if err != nil {
				t.Fatalf("ParseView(%q) = %v, want no error", want, err)
			}
			if got, err := tmpl.User(read, "", nil); err != nil || got != want {
				t.Errorf("rendered again it is %s, %v, want %s", got, err, want)
			}
		}
	}
}

func TestElementsMayLeaveOutIndexAndVisible(t *testing.T) {
	v, err := ParseView(`{"goal":"g","elements":[{"role":"a"},{"role":"b","visible":false},`+
		`{"i":7,"role":"c","visible":true}]}`, domain.FamilyMobile)
	if err != nil {
		t.Fatal(err)
	}

	if got := strings.Join(agents.Lines(v.Observation), "|"); got != "0 a|7 c" {
		t.Errorf("the lines are %s, want 0 a|7 c", got)
	}
}

func FuzzParseView(f *testing.F) {
	for _, s := range []string{
		"",
		"{",
		"Goal: g\nHistory: none\nScreen:\n0 button Send",
		`{"goal":"g","elements":[{"i":3,"role":"a"}]}`,
		"Goal: g\nHistory:\nScreen:",
		"Goal: g\nHistory:\nx\nScreen:\n0  \n1 \t",
	} {
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

		if _, err := agents.Default.User(v, "", nil); err != nil {
			t.Error(err)
		}
	})
}
