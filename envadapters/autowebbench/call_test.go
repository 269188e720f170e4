package autowebbench

import (
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestCommandsAreParsed(t *testing.T) {
	for in, want := range map[string]domain.Action{
		`click('AF')`: {Type: "click", Element: "AF"},
		`type_string("A", 'a "quoted" \'one\'` + "\nand a line', False)": {
			Type: "type_string", Element: "A", Text: "a \"quoted\" 'one'\nand a line",
		},
		`type_string(element_id='A', content='Author's page', press_enter=True )`: {
			Type: "type_string", Element: "A", Text: "Author's page", PressEnter: true,
		},
		`finish()`:               {Type: "finish"},
		`finish(None)`:           {Type: "finish"},
		`finish('a, b), c')`:     {Type: "finish", Answer: "a, b), c"},
		`switch_tab(2,)`:         {Type: "switch_tab", Tab: 2},
		`jump_to('u', True)`:     {Type: "jump_to", URL: "u", NewTab: true},
		`go( 'backward' )`:       {Type: "go", Direction: "backward"},
		`select('K', '大\u0041')`: {Type: "select", Element: "K", Option: `大\u0041`},
	} {
		t.Run(in, func(t *testing.T) {
			want.Family = domain.FamilyWeb
			if got, _, err := parseCall(in); err != nil || got != want {
				t.Errorf("parseCall(%s) = %+v, %v, want %+v", in, got, err, want)
			}
		})
	}
}

func TestOtherTextIsNeverEvaluated(t *testing.T) {
	for _, in := range []string{
		"",
		"click",
		"click(",
		"click(A)",
		"click('A'",
		"click('A', 'B')",
		"click(1)",
		"click(open('f'))",
		"__import__('os')",
		"go('up')",
		"switch_tab('2')",
		"type_string('A', 'b, True)",
	} {
		t.Run(in, func(t *testing.T) {
			if a, _, err := parseCall(in); err == nil {
				t.Errorf("parseCall(%s) = %+v, want an error", in, a)
			}
		})
	}
}

func FuzzParseCall(f *testing.F) {
	f.Add("click('A')")
	f.Add("type_string('A', 'x\\'', True)")
	f.Fuzz(func(t *testing.T, s string) {
		a, _, err := parseCall(s)
		if err != nil {
			return
		}
		if err := a.Validate(); err != nil {
			t.Errorf("parseCall(%q) = %+v, %v, want a valid action", s, a, err)
		}
	})
}

func FuzzParsePage(f *testing.F) {
	f.Add("< <a[A]| x> >")
	f.Fuzz(func(t *testing.T, s string) {
		if n := len(parsePage(s).elements(nil)); n > maxNodes+1 {
			t.Errorf("parsePage(%q) has %d elements, want at most %d", s, n, maxNodes+1)
		}
	})
}
