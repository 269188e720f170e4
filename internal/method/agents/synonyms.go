package agents

import "github.com/collabui/collabui/domain"

// meaning is the action type that a synonym stands for, and a field that it sets if the answer does not.
type meaning struct{ Type, Field, Value string }

// synonyms maps common synonyms of action types to their meaning, by family. docs/method.md lists them.
var synonyms = map[domain.Family]map[string]meaning{
	domain.FamilyMobile: {
		"tap":          {Type: domain.ActionClick},
		"touch":        {Type: domain.ActionClick},
		"left_click":   {Type: domain.ActionClick},
		"doubletap":    {Type: domain.ActionDoubleTap},
		"double_click": {Type: domain.ActionDoubleTap},
		"longpress":    {Type: domain.ActionLongPress},
		"long_tap":     {Type: domain.ActionLongPress},
		"long_click":   {Type: domain.ActionLongPress},
		"type":         {Type: domain.ActionInputText},
		"type_text":    {Type: domain.ActionInputText},
		"input":        {Type: domain.ActionInputText},
		"enter_text":   {Type: domain.ActionInputText},
		"enter":        {Type: domain.ActionEnter},
		"press_enter":  {Type: domain.ActionEnter},
		"back":         {Type: domain.ActionBack},
		"go_back":      {Type: domain.ActionBack},
		"press_back":   {Type: domain.ActionBack},
		"home":         {Type: domain.ActionHome},
		"go_home":      {Type: domain.ActionHome},
		"press_home":   {Type: domain.ActionHome},
		"open":         {Type: domain.ActionOpenApp},
		"launch_app":   {Type: domain.ActionOpenApp},
		"start_app":    {Type: domain.ActionOpenApp},
		"complete":     {Type: domain.ActionStatus, Field: "goal_status", Value: domain.StatusComplete},
		"done":         {Type: domain.ActionStatus, Field: "goal_status", Value: domain.StatusComplete},
		"finish":       {Type: domain.ActionStatus, Field: "goal_status", Value: domain.StatusComplete},
		"infeasible":   {Type: domain.ActionStatus, Field: "goal_status", Value: domain.StatusInfeasible},
	},
	domain.FamilyWeb: {
		"tap":           {Type: domain.ActionClick},
		"left_click":    {Type: domain.ActionClick},
		"select_option": {Type: domain.ActionSelect},
		"type":          {Type: domain.ActionTypeString},
		"type_text":     {Type: domain.ActionTypeString},
		"input":         {Type: domain.ActionTypeString},
		"input_text":    {Type: domain.ActionTypeString},
		"scroll":        {Type: domain.ActionScrollPage},
		"back":          {Type: domain.ActionGo, Field: "direction", Value: "backward"},
		"go_back":       {Type: domain.ActionGo, Field: "direction", Value: "backward"},
		"press_back":    {Type: domain.ActionGo, Field: "direction", Value: "backward"},
		"go_forward":    {Type: domain.ActionGo, Field: "direction", Value: "forward"},
		"goto":          {Type: domain.ActionJumpTo},
		"open_url":      {Type: domain.ActionJumpTo},
		"done":          {Type: domain.ActionFinish},
		"complete":      {Type: domain.ActionFinish},
		"wait":          {Type: domain.ActionNone},
	},
}

// valueSynonyms maps common synonyms of a field's values to the values, by field.
var valueSynonyms = map[string]map[string]string{
	"goal_status": {
		"completed":  domain.StatusComplete,
		"done":       domain.StatusComplete,
		"success":    domain.StatusComplete,
		"successful": domain.StatusComplete,
		"impossible": domain.StatusInfeasible,
	},
	"direction": {"back": "backward"},
}
