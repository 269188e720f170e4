package tinylm

// ActionKind is an action that an answer can take. It determines the text of the answer up to its arguments.
type ActionKind struct {
	Name      string // for logs and figures
	reason    string
	fields    string // JSON members that the kind determines
	takesElem bool   // whether the answer names an element
	takesText bool   // whether the answer copies words of the prompt
	speech    bool   // whether it is an act of speech
}

// ActionKinds lists the actions of the grammar: the mobile actions of docs/method.md and the acts of speech. Their
// order is part of the checkpoint format, so new kinds may only be appended.
var ActionKinds = []ActionKind{
	{
		Name:      "click",
		reason:    "this element serves the goal.",
		fields:    `"action_type":"click"`,
		takesElem: true,
	},
	{
		Name:      "input_text",
		reason:    "this field takes the text that the goal gives.",
		fields:    `"action_type":"input_text"`,
		takesElem: true,
		takesText: true,
	},
	{
		Name:   "status_complete",
		reason: "the goal is reached.",
		fields: `"action_type":"status","goal_status":"complete"`,
	},
	{
		Name:   "scroll_down",
		reason: "what the goal needs is further down.",
		fields: `"action_type":"scroll","direction":"down"`,
	},
	{
		Name:   "scroll_up",
		reason: "what the goal needs is further up.",
		fields: `"action_type":"scroll","direction":"up"`,
	},
	{
		Name:   "navigate_back",
		reason: "this screen does not serve the goal.",
		fields: `"action_type":"navigate_back"`,
	},
	{
		Name:      "long_press",
		reason:    "holding this element serves the goal.",
		fields:    `"action_type":"long_press"`,
		takesElem: true,
	},
	{
		Name:      "double_tap",
		reason:    "a double tap on this element serves the goal.",
		fields:    `"action_type":"double_tap"`,
		takesElem: true,
	},
	{
		Name:   "keyboard_enter",
		reason: "the typed text is ready to be sent.",
		fields: `"action_type":"keyboard_enter"`,
	},
	{
		Name:      "answer",
		reason:    "the screen shows what the goal asks.",
		fields:    `"action_type":"answer"`,
		takesText: true,
	},
	{
		Name:      "open_app",
		reason:    "the goal needs another app.",
		fields:    `"action_type":"open_app"`,
		takesText: true,
	},
	{
		Name:   "navigate_home",
		reason: "the goal starts from the home screen.",
		fields: `"action_type":"navigate_home"`,
	},
	{
		Name:   "wait",
		reason: "the screen is not ready.",
		fields: `"action_type":"wait"`,
	},
	{
		Name:   "status_infeasible",
		reason: "the goal cannot be reached.",
		fields: `"action_type":"status","goal_status":"infeasible"`,
	},
	{
		Name:   "scroll_left",
		reason: "what the goal needs is further left.",
		fields: `"action_type":"scroll","direction":"left"`,
	},
	{
		Name:   "scroll_right",
		reason: "what the goal needs is further right.",
		fields: `"action_type":"scroll","direction":"right"`,
	},
	{
		Name:   "swipe_down",
		reason: "a swipe down serves the goal.",
		fields: `"action_type":"swipe","direction":"down"`,
	},
	{
		Name:   "swipe_up",
		reason: "a swipe up serves the goal.",
		fields: `"action_type":"swipe","direction":"up"`,
	},
	{
		Name:   "swipe_left",
		reason: "a swipe left serves the goal.",
		fields: `"action_type":"swipe","direction":"left"`,
	},
	{
		Name:   "swipe_right",
		reason: "a swipe right serves the goal.",
		fields: `"action_type":"swipe","direction":"right"`,
	},
	{
		Name:      "tell",
		reason:    "others need these words.",
		fields:    `"action_type":"tell"`,
		takesText: true,
		speech:    true,
	},
	{
		Name:      "point",
		reason:    "others need this element.",
		fields:    `"action_type":"point"`,
		takesElem: true,
		speech:    true,
	},
	{
		Name:   "pass",
		reason: "nothing here serves the goal.",
		fields: `"action_type":"pass"`,
		speech: true,
	},
}

const (
	kindSlots   = 32 // width of the kind head, with room for new kinds
	pieceAnswer = 1  // the token that requests the first choice; kind k is piece k+2
	numPieces   = kindSlots + 2
)

// textField returns the JSON member that holds the text.
func (k ActionKind) textField() string {
	if k.Name == "open_app" {
		return "app_name"
	}

	return "text"
}

// head returns the text of an answer up to its arguments.
func (k ActionKind) head() string { return "Reason: " + k.reason + "\nAction: {" + k.fields }
