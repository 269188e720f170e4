package mind2web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/collabui/collabui/domain"
)

// task is a record of the published files: a recorded task on one website. Parts that are not used here are left out.
type task struct {
	ID      string   `json:"annotation_id"`
	Website string   `json:"website"`
	Domain  string   `json:"domain"`
	Goal    string   `json:"confirmed_task"`
	Reprs   []string `json:"action_reprs"`
	Actions []action `json:"actions"`
}

type action struct {
	ID        string `json:"action_uid"`
	HTML      string `json:"cleaned_html"`
	Operation struct {
		Op    string `json:"op"`
		Value string `json:"value"`
	} `json:"operation"`
	Pos []candidate `json:"pos_candidates"`
	Neg []candidate `json:"neg_candidates"`
}

type candidate struct {
	Tag        string `json:"tag"`
	Node       string `json:"backend_node_id"`
	Attributes string `json:"attributes"` // JSON in a string
}

// parseTask reads and checks a record.
func parseTask(raw []byte) (task, error) {
	var t task
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, err
	}
	switch {
	case t.ID == "" || t.Goal == "":
		return t, errors.New("annotation_id and confirmed_task may not be empty")
	case len(t.Actions) == 0:
		return t, fmt.Errorf("task %s has no actions", t.ID)
	}
	for i, a := range t.Actions {
		if !slices.Contains([]string{"CLICK", "TYPE", "SELECT"}, a.Operation.Op) {
			return t, fmt.Errorf("task %s, action %d: unknown operation %q", t.ID, i+1, a.Operation.Op)
		}
		for _, c := range slices.Concat(a.Pos, a.Neg) {
			if c.Node == "" {
				return t, fmt.Errorf("task %s, action %d: a candidate has no backend_node_id", t.ID, i+1)
			}
		}
	}
	return t, nil
}

// op is the recorded operation as the scorer compares it.
func (a action) op() string { return strings.TrimSpace(a.Operation.Op + " " + a.Operation.Value) }

// do is the recorded operation on an element.
func (a action) do(node string) domain.Action {
	out := domain.Action{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: node}
	switch a.Operation.Op {
	case "TYPE":
		out.Type, out.Text = domain.ActionTypeString, a.Operation.Value
	case "SELECT":
		out.Type, out.Option = domain.ActionSelect, a.Operation.Value
	}
	return out
}

// attributes of a candidate that say what it is.
var telling = []string{"aria_label", "aria-label", "title", "alt", "placeholder", "name", "value", "label", "text"}

// elements describes candidates: tag, text of its part of the page, telling attributes.
func (a action) elements(cs []candidate) []domain.Element {
	texts := pageTexts(a.HTML)
	out := make([]domain.Element, 0, len(cs))
	for i, c := range cs {
		var attrs map[string]any
		_ = json.Unmarshal([]byte(c.Attributes), &attrs) // some are cut: the text of the page stays
		var said []string
		for _, k := range telling {
			if v, ok := attrs[k].(string); ok && v != "" && !slices.Contains(said, v) {
				said = append(said, v)
			}
		}
		e := domain.Element{Index: i, ID: c.Node, Role: role(c.Tag, attrs), Text: texts[c.Node], Desc: strings.Join(said, " "), Visible: true}
		e.Editable = e.Role == "field"
		out = append(out, e)
	}
	return out
}

func role(tag string, attrs map[string]any) string {
	kind, _ := attrs["type"].(string)
	switch strings.ToLower(tag) {
	case "a":
		return "link"
	case "select":
		return domain.RoleSelect
	case "textarea":
		return "field"
	case "input":
		switch kind {
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

// maxText bounds the text of an element, in bytes.
const maxText = 300

// pageTexts gives the text below every node of a page that has a backend_node_id. The parser takes any bytes.
func pageTexts(page string) map[string]string {
	out := map[string]string{}
	type element struct{ tag, id string }
	var open []element // around the present token
	z := html.NewTokenizer(bytes.NewReader([]byte(page)))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.TextToken:
			if t := strings.Join(strings.Fields(string(z.Text())), " "); t != "" {
				for _, e := range open {
					if e.id != "" && len(out[e.id]) < maxText {
						out[e.id] = strings.TrimSpace(out[e.id] + " " + t)
					}
				}
			}
		case html.StartTagToken:
			if tag, _ := z.TagName(); !slices.Contains(void, string(tag)) {
				open = append(open, element{string(tag), nodeID(z)})
			}
		case html.EndTagToken:
			tag, _ := z.TagName()
			for i := len(open) - 1; i >= 0; i-- {
				if open[i].tag == string(tag) {
					open = open[:i]
					break
				}
			}
		}
	}
}

// void elements have no end tag.
var void = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}

func nodeID(z *html.Tokenizer) string {
	id := ""
	for {
		k, v, more := z.TagAttr()
		if string(k) == "backend_node_id" {
			id = string(v)
		}
		if !more {
			return id
		}
	}
}
