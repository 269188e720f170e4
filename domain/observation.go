package domain

// Rect is x, y, width and height in CSS pixels of the viewport.
type Rect [4]int

// Touch is where an action reached the screen, in the coordinates of Element.Bounds.
type Touch struct {
	At [2]int `json:"at"`
	// To is where a swipe ended; nil if it stayed where it began. A scroll is the swipe that moves the content as far.
	To *[2]int `json:"to,omitempty"`
}

// RoleSelect is the role of an element that offers options to choose from.
const RoleSelect = "select"

// NoID is the ID of an element on a web page that no action can name.
const NoID = "-"

// Element is one entry of an observation.
type Element struct {
	// Index is the element's place in the environment's full list. It does not change when neighbours are left out.
	Index int `json:"i"`
	// ID is the environment's own name of the element, by which web actions name it. It is NoID if no action can name
	// the element, and empty in the mobile family.
	ID   string `json:"id,omitempty"`
	Role string `json:"role"`
	Text string `json:"text,omitempty"`
	Desc string `json:"desc,omitempty"`
	// Value is what a field holds.
	Value string `json:"value,omitempty"`
	// State holds any of on, off, checked, unchecked, selected, disabled, focused, expanded and collapsed.
	State []string `json:"state,omitempty"`
	// Editable is true for elements that take typed text.
	Editable bool `json:"editable,omitempty"`
	Bounds   Rect `json:"bounds"`
	// Visible is true for elements inside the viewport.
	Visible bool `json:"visible"`
	// Occluded is true if another element would take a tap on the centre of this one.
	Occluded bool `json:"occluded,omitempty"`
	// Target is the Index of the element that takes the input to this one, such as the field of a label. It is nil if
	// the element takes its input itself.
	Target *int `json:"target,omitempty"`
}

// Shown reports whether agents see the element. Elements that are not visible or are covered by others stay in the list
// but not in prompts.
func (e Element) Shown() bool { return e.Visible && !e.Occluded }

// Observation is what the agents see at one step.
type Observation struct {
	Width    int       `json:"width"`
	Height   int       `json:"height"`
	Elements []Element `json:"elements"`
}

// Element returns the element with the given Index.
func (o Observation) Element(index int) (Element, bool) {
	if index >= 0 && index < len(o.Elements) && o.Elements[index].Index == index {
		return o.Elements[index], true
	}

	for _, element := range o.Elements {
		if element.Index == index {
			return element, true
		}
	}

	return Element{}, false
}

// ByID returns the element with the given ID. NoID and the empty ID belong to no element.
func (o Observation) ByID(id string) (Element, bool) {
	if id == NoID || id == "" {
		return Element{}, false
	}

	for _, element := range o.Elements {
		if element.ID == id {
			return element, true
		}
	}

	return Element{}, false
}

// receiver returns the ID of the element that takes the input to the element with the given ID. That is id itself
// unless the element has a target in the observation.
func (o Observation) receiver(id string) string {
	element, ok := o.ByID(id)
	if !ok || element.Target == nil {
		return id
	}
	if target, ok := o.Element(*element.Target); ok {
		return target.ID
	}

	return id
}
