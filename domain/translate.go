package domain

// In returns the action in another family, as an agent of that family would write it on the same observation, whose
// elements need both an Index and an ID. It is false if the family has no counterpart. Hover and long press translate
// into each other, and so do asking the user and an infeasible goal.
func (a Action) In(f Family, o Observation) (Action, bool) {
	if a.InFamily(f) {
		return a, true
	}
	if f == FamilyWeb {
		return a.web(o)
	}
	return a.mobile(o)
}

func (a Action) web(o Observation) (Action, bool) {
	w := Action{Family: FamilyWeb}
	role := ""
	if a.Index != nil {
		e, ok := o.Element(*a.Index)
		if !ok || e.ID == "" || e.ID == NoID {
			return Action{}, false
		}
		w.Element, role = e.ID, e.Role
	}

	switch a.Type {
	case ActionClick, ActionDoubleTap:
		w.Type = ActionClick
	case ActionLongPress:
		w.Type = ActionHover
	case ActionInputText:
		w.Type, w.Text = ActionTypeString, a.Text
		if role == RoleSelect {
			w.Type, w.Text, w.Option = ActionSelect, "", a.Text
		}
	case ActionScroll, ActionSwipe:
		w.Type, w.Element, w.Direction = ActionScrollPage, "", a.Direction
		if a.Type == ActionSwipe {
			// A swipe names the way of the finger, which is opposite to the way of the page.
			w.Direction = map[string]string{"up": "down", "down": "up"}[a.Direction]
		}
	case ActionBack:
		w.Type, w.Direction = ActionGo, "backward"
	case ActionAnswer:
		w.Type, w.Answer = ActionFinish, a.Text
	case ActionStatus:
		w.Type = ActionFinish
		if a.GoalStatus == StatusInfeasible {
			w.Type = ActionUserInput
		}
	case ActionWait, ActionNone:
		w.Type = ActionNone
	default:
		return Action{}, false
	}

	return w, w.Validate() == nil
}

func (a Action) mobile(o Observation) (Action, bool) {
	var m Action
	if a.Element != "" {
		e, ok := o.ByID(a.Element)
		if !ok {
			return Action{}, false
		}
		m = m.At(e.Index)
	}

	switch a.Type {
	case ActionClick:
		m.Type = ActionClick
	case ActionHover:
		m.Type = ActionLongPress
	case ActionTypeString:
		m.Type, m.Text = ActionInputText, a.Text
	case ActionSelect:
		m.Type, m.Text = ActionInputText, a.Option
	case ActionScrollPage:
		m.Type, m.Direction = ActionScroll, a.Direction
	case ActionGo:
		if a.Direction != "backward" {
			return Action{}, false
		}
		m.Type = ActionBack
	case ActionFinish:
		m.Type, m.GoalStatus = ActionStatus, StatusComplete
		if a.Answer != "" {
			m = Action{Type: ActionAnswer, Text: a.Answer}
		}
	case ActionUserInput:
		m.Type, m.GoalStatus = ActionStatus, StatusInfeasible
	case ActionNone:
		m.Type = ActionWait
	default:
		return Action{}, false
	}

	return m, m.Validate() == nil
}
