package domain

// Rect is x, y, width, height in CSS pixels of the viewport.
type Rect [4]int

// Element is one entry of an observation. Index is its place in the raw list: it keeps it where invisible neighbours are not shown.
type Element struct {
	Index    int      `json:"i"`
	ID       string   `json:"id,omitempty"` // the environment's own name of it, for web actions; NoID where it takes none; empty in the mobile family
	Role     string   `json:"role"`
	Text     string   `json:"text,omitempty"`
	Desc     string   `json:"desc,omitempty"`
	Value    string   `json:"value,omitempty"`    // what a field holds
	State    []string `json:"state,omitempty"`    // on, off, checked, unchecked, selected, disabled, focused, expanded, collapsed
	Editable bool     `json:"editable,omitempty"` // takes typed text
	Bounds   Rect     `json:"bounds"`
	Visible  bool     `json:"visible"`            // inside the viewport
	Occluded bool     `json:"occluded,omitempty"` // something else would take a tap on its centre
	Target   *int     `json:"target,omitempty"`   // index of the element that takes the input, where it is another one (a label's field)
}

// RoleSelect is the role of an element that offers options to choose from.
const RoleSelect = "select"

// NoID is the ID of an element on a web page that no action can name.
const NoID = "-"

// Observation is what the agents see at one step.
type Observation struct {
	Width    int       `json:"width"`
	Height   int       `json:"height"`
	Elements []Element `json:"elements"`
}

// Element finds an element by its index.
func (o Observation) Element(index int) (Element, bool) {
	if index >= 0 && index < len(o.Elements) && o.Elements[index].Index == index {
		return o.Elements[index], true
	}
	for _, e := range o.Elements {
		if e.Index == index {
			return e, true
		}
	}
	return Element{}, false
}

// ByID finds an element by its ID.
func (o Observation) ByID(id string) (Element, bool) {
	for _, e := range o.Elements {
		if e.ID == id && id != NoID && id != "" {
			return e, true
		}
	}
	return Element{}, false
}

// Shown tells whether agents see the element: invisible and covered ones stay in the list but not in prompts.
func (e Element) Shown() bool { return e.Visible && !e.Occluded }
