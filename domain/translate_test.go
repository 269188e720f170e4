package domain

import (
	"encoding/json"
	"testing"
)

var translated = Observation{Elements: []Element{
	{Index: 0, ID: "A", Role: "button"},
	{Index: 1, ID: NoID, Role: "text"},
	{Index: 2, ID: "S", Role: RoleSelect},
}}

func TestMobileActionsTranslateToTheWeb(t *testing.T) {
	for _, test := range []struct {
		mobile, web string // Web is empty if there is no counterpart.
		oneWay      bool   // The web action translates to another mobile one.
	}{
		{mobile: `{"action_type":"click","index":0}`, web: `{"action":"click","element":"A"}`},
		{mobile: `{"action_type":"long_press","index":0}`, web: `{"action":"hover","element":"A"}`},
		{
			mobile: `{"action_type":"input_text","index":0,"text":"x"}`,
			web:    `{"action":"type_string","element":"A","text":"x"}`,
		},
		{
			mobile: `{"action_type":"input_text","index":2,"text":"Queen"}`,
			web:    `{"action":"select","element":"S","option":"Queen"}`,
		},
		{mobile: `{"action_type":"scroll","direction":"down"}`, web: `{"action":"scroll_page","direction":"down"}`},
		{mobile: `{"action_type":"navigate_back"}`, web: `{"action":"go","direction":"backward"}`},
		{mobile: `{"action_type":"status","goal_status":"complete"}`, web: `{"action":"finish"}`},
		{mobile: `{"action_type":"status","goal_status":"infeasible"}`, web: `{"action":"user_input"}`},
		{mobile: `{"action_type":"answer","text":"42"}`, web: `{"action":"finish","answer":"42"}`},
		{mobile: `{"action_type":"wait"}`, web: `{"action":"none"}`},
		{mobile: `{"action_type":"double_tap","index":0}`, web: `{"action":"click","element":"A"}`, oneWay: true},
		{mobile: `{"action_type":"none"}`, web: `{"action":"none"}`, oneWay: true},
		{
			mobile: `{"action_type":"swipe","direction":"up"}`,
			web:    `{"action":"scroll_page","direction":"down"}`,
			oneWay: true,
		},
		{mobile: `{"action_type":"scroll","index":1,"direction":"up"}`},
		{mobile: `{"action_type":"scroll","direction":"left"}`},
		{mobile: `{"action_type":"swipe","direction":"left"}`},
		{mobile: `{"action_type":"open_app","app_name":"Clock"}`},
		{mobile: `{"action_type":"keyboard_enter"}`},
		{mobile: `{"action_type":"click","index":1}`},
		{mobile: `{"action_type":"click","index":7}`},
	} {
		t.Run(test.mobile, func(t *testing.T) {
			web, ok := unmarshal(t, test.mobile).In(FamilyWeb, translated)
			if ok != (test.web != "") || ok && web.JSON() != test.web {
				t.Fatalf("In(web) = %s, %v, want %q", web.JSON(), ok, test.web)
			}
			if !ok || test.oneWay {
				return
			}

			if back, ok := web.In(FamilyMobile, translated); !ok || back.JSON() != test.mobile {
				t.Errorf("%s came back as %s, %v, want %s", test.web, back.JSON(), ok, test.mobile)
			}
		})
	}
}

func TestWebActionsWithoutCounterpartDoNotTranslate(t *testing.T) {
	for _, raw := range []string{
		`{"action":"go","direction":"forward"}`,
		`{"action":"jump_to","url":"u"}`,
		`{"action":"switch_tab","tab":1}`,
		`{"action":"click","element":"X"}`,
	} {
		t.Run(raw, func(t *testing.T) {
			if got, ok := unmarshal(t, raw).In(FamilyMobile, translated); ok {
				t.Errorf("In(mobile) = %s, want no counterpart", got.JSON())
			}
		})
	}
}

func unmarshal(t *testing.T, raw string) Action {
	t.Helper()
	var a Action
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		t.Fatal(err)
	}

	return a
}
