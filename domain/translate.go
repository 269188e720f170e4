package domain

// In returns the action in another family, as an agent of that family would write it on the same observation, whose
// elements need both an Index and an ID. It is false if the family has no counterpart. Hover and long press translate
// into each other, and so do asking the user and an infeasible goal.
func (a Action) In(family Family, screen Observation) (Action, bool) {
	if a.InFamily(family) {
		return a, true
	}
	if family == FamilyWeb {
		return a.web(screen)
	}
	return a.mobile(screen)
}

func (a Action) web(screen Observation) (Action, bool) {
	translated := Action{Family: FamilyWeb}
	role := ""
	if a.Index != nil {
		element, ok := screen.Element(*a.Index)
		if !ok || element.ID == "" || element.ID == NoID {
			return Action{}, false
		}
		translated.Element = element.ID
		role = element.Role
	}

	switch a.Type {
	case ActionClick, ActionDoubleTap:
		translated.Type = ActionClick
	case ActionLongPress:
		translated.Type = ActionHover
	case ActionInputText:
		translated.Type = ActionTypeString
		translated.Text = a.Text
		if role == RoleSelect {
			translated.Type = ActionSelect
			translated.Text = ""
			translated.Option = a.Text
		}
	case ActionScroll, ActionSwipe:
		translated.Type = ActionScrollPage
		translated.Element = ""
		translated.Direction = a.Direction
		if a.Type == ActionSwipe {
			// A swipe names the way of the finger, which is opposite to the way of the page.
			translated.Direction = map[string]string{"up": "down", "down": "up"}[a.Direction]
		}
	case ActionBack:
		translated.Type = ActionGo
		translated.Direction = "backward"
	case ActionAnswer:
		translated.Type = ActionFinish
		translated.Answer = a.Text
	case ActionStatus:
		translated.Type = ActionFinish
		if a.GoalStatus == StatusInfeasible {
			translated.Type = ActionUserInput
		}
	case ActionWait, ActionNone:
		translated.Type = ActionNone
	default:
		return Action{}, false
	}

	return translated, translated.Validate() == nil
}

func (a Action) mobile(screen Observation) (Action, bool) {
	var translated Action
	if a.Element != "" {
		element, ok := screen.ByID(a.Element)
		if !ok {
			return Action{}, false
		}
		translated = translated.At(element.Index)
	}

	switch a.Type {
	case ActionClick:
		translated.Type = ActionClick
	case ActionHover:
		translated.Type = ActionLongPress
	case ActionTypeString:
		translated.Type = ActionInputText
		translated.Text = a.Text
	case ActionSelect:
		translated.Type = ActionInputText
		translated.Text = a.Option
	case ActionScrollPage:
		translated.Type = ActionScroll
		translated.Direction = a.Direction
	case ActionGo:
		if a.Direction != "backward" {
			return Action{}, false
		}
		translated.Type = ActionBack
	case ActionFinish:
		translated.Type = ActionStatus
		translated.GoalStatus = StatusComplete
		if a.Answer != "" {
			translated = Action{Type: ActionAnswer, Text: a.Answer}
		}
	case ActionUserInput:
		translated.Type = ActionStatus
		translated.GoalStatus = StatusInfeasible
	case ActionNone:
		translated.Type = ActionWait
	default:
		return Action{}, false
	}

	return translated, translated.Validate() == nil
}
