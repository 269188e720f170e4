package openenv

import (
	"encoding/json"
	"fmt"

	"github.com/collabui/collabui/domain"
)

// Act is the data of an action template: the action and the element that it names.
type Act struct {
	domain.Action
	ID   string // the element's ID
	Said string // the element's text
}

// gymScroll is the distance of a scroll, in pixels.
const gymScroll = 300

// browserGym formats an action as BrowserGym's agents write it. It names the element by its ID.
func browserGym(act Act) string {
	switch act.Type {
	case domain.ActionClick:
		return gymCall("click", act.ID)
	case domain.ActionDoubleTap:
		return gymCall("dblclick", act.ID)
	case domain.ActionHover, domain.ActionLongPress:
		return gymCall("hover", act.ID)
	case domain.ActionTypeString, domain.ActionInputText:
		return gymCall("fill", act.ID, act.Text)
	case domain.ActionSelect:
		return gymCall("select_option", act.ID, act.Option)
	case domain.ActionScroll, domain.ActionScrollPage:
		dx := map[string]int{"left": -gymScroll, "right": gymScroll}[act.Direction]
		dy := map[string]int{"up": -gymScroll, "down": gymScroll}[act.Direction]
		return fmt.Sprintf("scroll(%d, %d)", dx, dy)
	case domain.ActionGo:
		return map[string]string{"backward": "go_back()", "forward": "go_forward()"}[act.Direction]
	case domain.ActionBack:
		return "go_back()"
	case domain.ActionEnter:
		return gymCall("keyboard_press", "Enter")
	case domain.ActionJumpTo:
		return gymCall("goto", act.URL)
	case domain.ActionSwitchTab:
		return fmt.Sprintf("tab_focus(%d)", act.Tab-1)
	case domain.ActionFinish, domain.ActionAnswer:
		return gymCall("send_msg_to_user", act.Answer+act.Text)
	case domain.ActionUserInput:
		return gymCall("report_infeasible", act.Message)
	case domain.ActionStatus:
		if act.GoalStatus == domain.StatusInfeasible {
			return gymCall("report_infeasible", "")
		}
		return gymCall("send_msg_to_user", "")
	}

	return "noop()"
}

func gymCall(name string, args ...string) string {
	call := name + "("
	for i, a := range args {
		if i > 0 {
			call += ", "
		}
		literal, _ := json.Marshal(a) // a string always encodes
		call += string(literal)
	}

	return call + ")"
}
