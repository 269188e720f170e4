package domain

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestInvalidActionsAreRefused(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:                               "not valid JSON",
		`{}`:                               `unknown mobile action ""`,
		`{"action_type":"fly"}`:            `unknown mobile action "fly"`,
		`{"action_type":"click"}`:          `action "click" lacks index`,
		`{"action_type":"wait","extra":1}`: `unknown field "extra"`,
		`{"action_type":"click","index":1,"text":"a"}`:  `action "click" takes no text`,
		`{"action_type":"click","index":"1"}`:           "Go struct field actionJSON.index of type int",
		`{"action_type":"scroll","direction":"north"}`:  `direction "north" is none of up, down, left, right`,
		`{"action_type":"status","goal_status":"done"}`: `goal_status "done" is neither`,

		`{"action":"fly"}`:                             `unknown web action "fly"`,
		`{"action":"click"}`:                           `action "click" lacks element`,
		`{"action":"click","index":1}`:                 `action "click" takes no index`,
		`{"action":"click","element":"A","text":"x"}`:  `action "click" takes no text`,
		`{"action":"click","element":3}`:               "Go struct field actionJSON.element of type string",
		`{"action":"select","element":"A"}`:            `action "select" lacks option`,
		`{"action":"go","direction":"up"}`:             `direction "up" is none of forward, backward`,
		`{"action":"scroll_page","direction":"left"}`:  `direction "left" is none of up, down`,
		`{"action":"switch_tab"}`:                      `action "switch_tab" lacks tab`,
		`{"action":"switch_tab","tab":-1}`:             "tab -1 is below 1",
		`{"action":"finish","action_type":"status"}`:   `both "action_type" and "action"`,
		`{"action":"status","goal_status":"complete"}`: `unknown web action "status"`,
	} {
		t.Run(raw[:min(len(raw), 60)], func(t *testing.T) {
			a, err := ParseAction([]byte(raw))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("ParseAction(%.80s) = %+v, %v, want an error with %q", raw, a, err, want)
			}
		})
	}
}

func TestTextsOfAnActionAreBounded(t *testing.T) {
	for size, valid := range map[int]bool{4000: true, 4001: false} {
		a := Action{Type: ActionAnswer, Text: strings.Repeat("a", size)}
		if err := a.Validate(); (err == nil) != valid {
			t.Errorf("Validate() of an answer of %d bytes = %v, want valid %v", size, err, valid)
		}
	}
}

func TestValidActionsAreReadAndWrittenAlike(t *testing.T) {
	for family, actions := range map[Family][]string{
		FamilyMobile: {
			`{"action_type":"status","goal_status":"complete"}`,
			`{"action_type":"click","index":0}`,
			`{"action_type":"input_text","index":3,"text":"x"}`,
			`{"action_type":"scroll","direction":"down"}`,
			`{"action_type":"scroll","index":2,"direction":"left"}`,
		},
		FamilyWeb: {
			`{"action":"click","element":"A"}`,
			`{"action":"type_string","element":"A","text":"x","press_enter":true}`,
			`{"action":"select","element":"B","option":"Queen"}`,
			`{"action":"jump_to","url":"u","new_tab":true}`,
			`{"action":"switch_tab","tab":2}`,
			`{"action":"user_input","message":"log in"}`,
			`{"action":"finish","answer":"42"}`,
			`{"action":"finish"}`,
			`{"action":"none"}`,
		},
	} {
		for _, raw := range actions {
			t.Run(raw, func(t *testing.T) {
				a, err := ParseAction([]byte(raw))
				if err != nil {
					t.Fatal(err)
				}
				if !a.InFamily(family) {
					t.Errorf("family is %q, want %q", a.Family, family)
				}
				if got := a.JSON(); got != raw {
					t.Errorf("JSON() = %s, want %s", got, raw)
				}
			})
		}
	}
}

// Digests of runs depend on this form.
func TestStoredMobileActionsKeepTheirForm(t *testing.T) {
	got, err := json.Marshal([]Action{
		{Type: ActionInputText, Text: "a", Direction: "up", AppName: "b", GoalStatus: "c"},
		Action{Type: ActionClick}.At(3),
		{Type: ActionNone},
	})
	want := `[{"action_type":"input_text","text":"a","direction":"up","app_name":"b","goal_status":"c"},` +
		`{"action_type":"click","index":3},{"action_type":"none"}]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// Digests of runs depend on this form.
func TestCanonicalFormsHoldAllFields(t *testing.T) {
	target := 5
	o := Observation{Elements: []Element{
		{Index: 0, ID: "A"},
		{Index: 2, ID: "B", Target: &target},
		{Index: 5, ID: "C"},
	}}

	for name, test := range map[string]struct {
		action Action
		want   string
	}{
		"no field": {Action{Type: ActionWait}, "wait"},
		"an index": {Action{Type: ActionClick}.At(0), "click index=0"},
		"text is trimmed and case-folded": {
			Action{Type: ActionInputText, Text: " Milk "}.At(5),
			`input_text index=5 text="milk"`,
		},
		"an index becomes that of the target": {
			Action{Type: ActionInputText, Text: "milk"}.At(2),
			`input_text index=5 text="milk"`,
		},
		"an index without an element stays": {Action{Type: ActionClick}.At(9), "click index=9"},
		"an ID becomes that of the target": {
			Action{Family: FamilyWeb, Type: ActionTypeString, Element: "B", Text: "Milk", PressEnter: true},
			`type_string element="C" text="milk" press_enter`,
		},
		"an ID without an element stays": {
			Action{Family: FamilyWeb, Type: ActionClick, Element: "Z"},
			`click element="Z"`,
		},
		"flags and numbers": {
			Action{Family: FamilyWeb, Type: ActionJumpTo, URL: "U", NewTab: true, Tab: 2},
			`jump_to url="u" new_tab tab=2`,
		},
		"all texts in their order": {
			Action{
				Type: "x", Text: "1", Direction: "2", AppName: "3", GoalStatus: "4",
				Option: "5", URL: "6", Message: "7", Answer: "8",
			},
			`x text="1" direction="2" app_name="3" goal_status="4" option="5" url="6" message="7" answer="8"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.action.Canonical(o); got != test.want {
				t.Errorf("Canonical(%s) = %s, want %s", test.action.JSON(), got, test.want)
			}
		})
	}
}

func TestAnActionNamesAnElementByIndexOrID(t *testing.T) {
	o := Observation{Elements: []Element{{Index: 3, ID: "A"}, {Index: 7, ID: NoID}}}

	for name, test := range map[string]struct {
		action Action
		want   int
		ok     bool
	}{
		"by index":         {Action{Type: ActionClick}.At(7), 7, true},
		"by ID":            {Action{Family: FamilyWeb, Type: ActionClick, Element: "A"}, 3, true},
		"an unknown index": {Action{Type: ActionClick}.At(0), 0, false},
		"an unknown ID":    {Action{Family: FamilyWeb, Type: ActionClick, Element: "B"}, 0, false},
		"NoID":             {Action{Family: FamilyWeb, Type: ActionClick, Element: NoID}, 0, false},
		"none":             {Action{Type: ActionWait}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := test.action.Named(o); ok != test.ok || got.Index != test.want {
				t.Errorf("Named() = element %d, %v, want element %d, %v", got.Index, ok, test.want, test.ok)
			}
		})
	}
}

func TestSamplesAreValid(t *testing.T) {
	for _, f := range []Family{FamilyMobile, FamilyWeb} {
		samples := Samples(f)
		if len(samples) != len(ActionTypes(f)) {
			t.Errorf("%d samples of %s, want one for each of %v", len(samples), f, ActionTypes(f))
		}
		for _, a := range samples {
			if err := a.Validate(); err != nil {
				t.Errorf("the sample %s is not valid: %v, want one that is", a.JSON(), err)
			}
		}
	}
}
