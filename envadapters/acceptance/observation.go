package acceptance

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// digest checks the contents of a transition and returns them as text.
func (c *check) digest(tr envadapters.Transition) string {
	c.elements(tr.Observation)
	if tr.Terminated && tr.Truncated {
		c.bad("an episode is both terminated and truncated")
	}

	data, err := json.Marshal(struct {
		Goal        string
		Observation domain.Observation
		Over        bool
		Reward      float64
	}{tr.Goal, tr.Observation, over(tr), tr.Reward})
	if err != nil {
		c.bad("an observation is not JSON: %v", err)
	}

	return string(data)
}

func (c *check) elements(observation domain.Observation) {
	ids := map[string]bool{}
	last := -1
	for _, element := range observation.Elements {
		if element.Index <= last {
			c.bad("element %d comes after element %d", element.Index, last)
		}
		last = element.Index

		if element.ID != "" && element.ID != domain.NoID && ids[element.ID] {
			c.bad("two elements have the ID %q", element.ID)
		}
		ids[element.ID] = true
		c.element(element, observation)
	}
}

func (c *check) element(e domain.Element, observation domain.Observation) {
	if web := c.suite.Family() == domain.FamilyWeb; web != (e.ID != "") {
		c.bad("element %d has ID %q: elements of web suites have one, those of mobile suites have none", e.Index, e.ID)
	}
	if e.Target != nil {
		if _, ok := observation.Element(*e.Target); !ok {
			c.bad("element %d has the target %d, which does not exist", e.Index, *e.Target)
		}
	}
	if !utf8.ValidString(e.Text + e.Desc + e.Value) {
		c.bad("element %d has text that is not UTF-8", e.Index)
	}
	if e.Bounds[2] < 0 || e.Bounds[3] < 0 {
		c.bad("element %d has bounds %v", e.Index, e.Bounds)
	}
}
