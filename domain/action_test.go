package domain

import (
	"encoding/json"
	"testing"
)

func TestWebActionsAreValidatedAndCompared(t *testing.T) {
	for _, bad := range []string{`{"action":"fly"}`, `{"action":"click"}`, `{"action":"click","index":1}`, `{"action":"click","element":"A","text":"x"}`, `{"action":"select","element":"A"}`,
		`{"action":"go","direction":"up"}`, `{"action":"scroll_page","direction":"left"}`, `{"action":"switch_tab"}`, `{"action":"switch_tab","tab":-1}`, `{"action":"finish","action_type":"status"}`,
		`{"action":"status","goal_status":"complete"}`, `{"action":"click","element":3}`} {
		if a, err := ParseAction([]byte(bad)); err == nil {
			t.Errorf("%s parsed as %+v", bad, a)
		}
	}
	for _, good := range []string{`{"action":"click","element":"A"}`, `{"action":"type_string","element":"A","text":"x","press_enter":true}`, `{"action":"jump_to","url":"u","new_tab":true}`,
		`{"action":"switch_tab","tab":2}`, `{"action":"user_input","message":"log in"}`, `{"action":"finish","answer":"42"}`, `{"action":"finish"}`, `{"action":"none"}`, `{"action":"select","element":"B","option":"Queen"}`} {
		a, err := ParseAction([]byte(good))
		if err != nil || !a.InFamily(FamilyWeb) || a.JSON() != good {
			t.Errorf("%s: %s %v", good, a.JSON(), err)
		}
	}
	one := 1
	o := Observation{Elements: []Element{{Index: 0, ID: "A", Target: &one}, {Index: 1, ID: "B"}}}
	typed := func(id, text string, enter bool) string {
		return Action{Family: FamilyWeb, Type: ActionTypeString, Element: id, Text: text, PressEnter: enter}.Canonical(o)
	}
	if typed("A", " Milk", true) != typed("B", "milk", true) || typed("B", "milk", true) == typed("B", "milk", false) {
		t.Error(typed("A", " Milk", true), typed("B", "milk", false))
	}
}

// TestStoredMobileActionsKeepTheirForm: digests of runs rest on it.
func TestStoredMobileActionsKeepTheirForm(t *testing.T) {
	b, err := json.Marshal([]Action{{Type: ActionInputText, Text: "a", Direction: "up", AppName: "b", GoalStatus: "c"}, Action{Type: ActionClick}.At(3), {Type: ActionNone}})
	if want := `[{"action_type":"input_text","text":"a","direction":"up","app_name":"b","goal_status":"c"},{"action_type":"click","index":3},{"action_type":"none"}]`; err != nil || string(b) != want {
		t.Errorf("%s %v", b, err)
	}
}

func TestActionsTranslateBetweenFamilies(t *testing.T) {
	o := Observation{Elements: []Element{{Index: 0, ID: "A", Role: "button"}, {Index: 1, ID: NoID, Role: "text"}, {Index: 2, ID: "S", Role: RoleSelect}}}
	for mobile, web := range map[string]string{
		`{"action_type":"click","index":0}`:                           `{"action":"click","element":"A"}`,
		`{"action_type":"long_press","index":0}`:                      `{"action":"hover","element":"A"}`,
		`{"action_type":"input_text","index":0,"text":"x"}`:           `{"action":"type_string","element":"A","text":"x"}`,
		`{"action_type":"input_text","index":2,"text":"Queen"}`:       `{"action":"select","element":"S","option":"Queen"}`,
		`{"action_type":"scroll","direction":"down"}`:                 `{"action":"scroll_page","direction":"down"}`,
		`{"action_type":"navigate_back"}`:                             `{"action":"go","direction":"backward"}`,
		`{"action_type":"status","goal_status":"complete"}`:           `{"action":"finish"}`,
		`{"action_type":"status","goal_status":"infeasible"}`:         `{"action":"user_input"}`,
		`{"action_type":"answer","text":"42"}`:                        `{"action":"finish","answer":"42"}`,
		`{"action_type":"wait"}`:                                      `{"action":"none"}`,
		`{"action_type":"none"}`:                                      `{"action":"none"} `,
		`{"action_type":"scroll","index":1,"direction":"up"}`:         ``,
		`{"action_type":"swipe","direction":"up"}`:                    `{"action":"scroll_page","direction":"down"} `,
		`{"action_type":"double_tap","index":0}`:                      `{"action":"click","element":"A"} `,
		`{"action_type":"click","index":1}`:                           ``,
		`{"action_type":"keyboard_enter"}`:                            ``,
		`{"action_type":"scroll","direction":"left"}`:                 ``,
		`{"action_type":"swipe","direction":"left"}`:                  ``,
		`{"action_type":"open_app","app_name":"Clock"}`:               ``,
		`{"action_type":"click","index":7}`:                           ``,
		`{"action_type":"input_text","index":0,"text":"y","extra":1}`: `unparsed`,
	} {
		m, err := unmarshal(mobile)
		if (err != nil) != (web == "unparsed") {
			t.Errorf("%s: %v", mobile, err)
		}
		if err != nil {
			continue
		}
		w, ok := m.In(FamilyWeb, o)
		oneWay := web != "" && web[len(web)-1] == ' '
		if want, err := unmarshal(web); ok != (web != "") || ok && (err != nil || w.JSON() != want.JSON()) {
			t.Errorf("%s became %s, not %s", mobile, w.JSON(), web)
		}
		if back, ok := w.In(FamilyMobile, o); web != "" && !oneWay && (!ok || back.JSON() != mobile) {
			t.Errorf("%s came back as %s", mobile, back.JSON())
		}
	}
	for _, web := range []string{`{"action":"go","direction":"forward"}`, `{"action":"jump_to","url":"u"}`, `{"action":"switch_tab","tab":1}`, `{"action":"click","element":"X"}`} {
		w, err := unmarshal(web)
		if m, ok := w.In(FamilyMobile, o); err != nil || ok {
			t.Errorf("%s became %s", web, m.JSON())
		}
	}
}

func unmarshal(s string) (a Action, err error) { return a, json.Unmarshal([]byte(s), &a) }
