package autowebbench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/fault"
)

func open(t *testing.T, o envadapters.Options) *Suite {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAcceptance(t *testing.T) {
	for _, r := range acceptance.Test(t, open(t, envadapters.Options{Data: "testdata"}), 0) {
		if r.Expert != acceptance.Solves || r.Replay != acceptance.Identical {
			t.Errorf("%+v", r)
		}
	}
}

func TestCommandsAreReadAndNeverEvaluated(t *testing.T) {
	for in, want := range map[string]domain.Action{
		`click('AF')`: {Type: "click", Element: "AF"},
		`type_string("A", 'a "quoted" \'one\'` + "\nand a line', False)":          {Type: "type_string", Element: "A", Text: "a \"quoted\" 'one'\nand a line"},
		`type_string(element_id='A', content='Author's page', press_enter=True )`: {Type: "type_string", Element: "A", Text: "Author's page", PressEnter: true},
		`finish()`:               {Type: "finish"},
		`finish(None)`:           {Type: "finish"},
		`finish('a, b), c')`:     {Type: "finish", Answer: "a, b), c"},
		`switch_tab(2,)`:         {Type: "switch_tab", Tab: 2},
		`jump_to('u', True)`:     {Type: "jump_to", URL: "u", NewTab: true},
		`go( 'backward' )`:       {Type: "go", Direction: "backward"},
		`select('K', '大\u0041')`: {Type: "select", Element: "K", Option: `大\u0041`},
	} {
		want.Family = domain.FamilyWeb
		got, _, err := parseCall(in)
		if err != nil || got != want {
			t.Errorf("%s: %+v %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "click", "click(", "click(A)", "click('A'", "click('A', 'B')", "__import__('os')", "click(open('f'))", "go('up')", "click(1)", "switch_tab('2')", "type_string('A', 'b, True)"} {
		if a, _, err := parseCall(bad); err == nil {
			t.Errorf("%s parsed as %+v", bad, a)
		}
	}
}

func FuzzParseCall(f *testing.F) {
	f.Add("click('A')")
	f.Add("type_string('A', 'x\\'', True)")
	f.Fuzz(func(t *testing.T, s string) {
		if a, _, err := parseCall(s); err == nil && a.Validate() != nil {
			t.Errorf("%q gave %+v", s, a)
		}
	})
}

func FuzzParsePage(f *testing.F) {
	f.Add("< <a[A]| x> >")
	f.Fuzz(func(t *testing.T, s string) {
		if n := parsePage(s).elements(nil); len(n) > maxNodes+1 {
			t.Error(len(n))
		}
	})
}

func TestAPageBecomesElements(t *testing.T) {
	s := open(t, envadapters.Options{Data: "testdata/en/ind/test.json"})
	env, _ := s.Open(t.Context())
	tr, err := env.Reset(t.Context(), domain.Task{Split: "en-ind", Template: "0002", MaxSteps: 2})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range tr.Observation.Elements {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s %s %s%s %v", e.Index, e.ID, e.Role, e.Text, e.Value, e.State)))
	}
	want := []string{"0 - tabs 1. Default <-- current tab []", "1 - viewport 0 / 2.0 []", "2 A link Tea []", "3 S link Coffee; strong []", "4 - text All drinks are []", "5 - text fresh []", "6 - text today []",
		"7 D field Search drinks []", "8 F checkbox  [checked]", "9 K select small large []", "10 L button Order []", "11 AL text now []"}
	if tr.Goal != `Search for "green tea"` || len(tr.History) != 0 || tr.History == nil {
		t.Errorf("%q %q", tr.Goal, tr.History)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if tr, err = env.Step(t.Context(), domain.Action{Family: domain.FamilyWeb, Type: domain.ActionNone}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1 type_string(\"D\", \"it's\\na \\\"test\\\"\", false) field Search drinks", `2 scroll_page("down")`, `3 user_input("log in")`}; !slices.Equal(tr.History, want) {
		t.Errorf("%q", tr.History)
	}
}

func TestStepsAreScoredByThreeRules(t *testing.T) {
	web := func(a domain.Action) domain.Action { a.Family = domain.FamilyWeb; return a }
	gold := web(domain.Action{Type: "type_string", Element: "D", Text: "green tea please", PressEnter: true})
	for name, c := range map[string]struct {
		a, gold domain.Action
		want    map[string]float64
	}{
		"equal":           {gold, gold, map[string]float64{"step_sr": 1, "strict": 1, "awg-all": 1, "awg-type": 1, "awg-label": 1, "awg-param-rouge": 1}},
		"other text":      {web(domain.Action{Type: "type_string", Element: "D", Text: "Tea, green"}), gold, map[string]float64{"step_sr": 1, "strict": 0, "awg-all": 1, "awg-type": 1, "awg-label": 1, "awg-param-rouge": 0.8}},
		"other element":   {web(domain.Action{Type: "type_string", Element: "A", Text: "x"}), gold, map[string]float64{"step_sr": 0, "strict": 0, "awg-all": 0, "awg-type": 1, "awg-label": 0, "awg-param-rouge": 0}},
		"nothing parsed":  {web(domain.Action{Type: "none"}), gold, map[string]float64{"step_sr": 0, "strict": 0, "awg-all": 0, "awg-type": 0, "awg-label": 0, "awg-param-rouge": 0}},
		"without element": {web(domain.Action{Type: "finish", Answer: "x"}), web(domain.Action{Type: "finish"}), map[string]float64{"step_sr": 1, "strict": 0}},
	} {
		got := map[string]float64{}
		for k, m := range score(c.a, c.gold) {
			got[k] = math.Round(m.Sum*1e6) / 1e6
			if m.N != 1 {
				t.Errorf("%s: %s counts %d", name, k, m.N)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
	if r := rouge1("绿茶和红茶", "红茶"); math.Abs(r-4.0/7) > 1e-12 {
		t.Error(r)
	}
}

func TestABrokenRecordIsSkippedOrFatalByChoice(t *testing.T) {
	raw, err := os.ReadFile("testdata/en/ind/test.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "test.json")
	if err := os.WriteFile(file, []byte(strings.Replace(string(raw), `"finish()"`, `"explode()"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, envadapters.Options{Data: file})
	if h := s.Check(t.Context()); h.State != envadapters.Dead || !strings.Contains(h.Detail, "test.json:3: record 2: target: unknown command") {
		t.Error(h)
	}
	if _, err := s.Templates("x"); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	s = open(t, envadapters.Options{Data: dir, Broken: "skip"})
	if h := s.Check(t.Context()); h.State != envadapters.Degraded || !strings.Contains(h.Detail, "4 records") || !strings.Contains(h.Detail, "test.json:3") {
		t.Error(h)
	}
	for _, o := range []envadapters.Options{{}, {Data: dir, Broken: "maybe"}} {
		if _, err := New(o); fault.KindOf(err) != fault.Invalid {
			t.Error(err)
		}
	}
}

// TestThePublishedFiles reads the files that COLLABUI_AUTOWEBBENCH names.
func TestThePublishedFiles(t *testing.T) {
	data := os.Getenv("COLLABUI_AUTOWEBBENCH")
	if data == "" {
		t.Skip("COLLABUI_AUTOWEBBENCH names no folder with the published files")
	}
	s := open(t, envadapters.Options{Data: data})
	for name, want := range map[string]int{"en-ind": 349, "zh-ind": 392} {
		if n, problems := s.Records(name); n != want || len(problems) > 0 {
			t.Errorf("%s: %d records, %v", name, n, problems)
		}
	}
	for _, r := range acceptance.Test(t, s, 20) {
		if r.Expert != acceptance.Solves {
			t.Errorf("%+v", r)
		}
	}
}
