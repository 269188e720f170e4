package mind2web

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// descriptiveAttributes are the attributes that describe an element.
var descriptiveAttributes = []string{
	"aria_label", "aria-label", "title", "alt", "placeholder", "name", "value", "label", "text",
}

// elements describes candidates by their tags, the text of their parts of the page, and their descriptive attributes.
func (a action) elements(cs []candidate) []domain.Element {
	texts := pageTexts(a.HTML)
	out := make([]domain.Element, 0, len(cs))
	for i, c := range cs {
		// Some attributes are cut off in the data. The text of the page is then enough.
		var attrs map[string]any
		_ = json.Unmarshal([]byte(c.Attributes), &attrs)
		var descriptions []string
		for _, key := range descriptiveAttributes {
			if value, ok := attrs[key].(string); ok && value != "" && !slices.Contains(descriptions, value) {
				descriptions = append(descriptions, value)
			}
		}

		element := domain.Element{
			Index:   i,
			ID:      c.Node,
			Role:    role(c.Tag, attrs),
			Text:    texts[c.Node],
			Desc:    strings.Join(descriptions, " "),
			Visible: true,
		}
		element.Editable = element.Role == "field"
		out = append(out, element)
	}

	return out
}

// role returns the role of a tag. For tags without one it returns the attribute role or the tag itself.
func role(tag string, attrs map[string]any) string {
	switch strings.ToLower(tag) {
	case "a":
		return "link"
	case "select":
		return domain.RoleSelect
	case "textarea":
		return "field"
	case "input":
		switch kind, _ := attrs["type"].(string); kind {
		case "checkbox", "radio":
			return kind
		case "submit", "button", "image", "reset":
			return "button"
		}
		return "field"
	case "img", "svg", "i":
		return "image"
	case "li":
		return "item"
	case "button", "option", "label":
		return strings.ToLower(tag)
	}

	if r, ok := attrs["role"].(string); ok && r != "" {
		return strings.ToLower(strings.Fields(r + " x")[0])
	}

	return strings.ToLower(tag)
}
