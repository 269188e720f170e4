package autowebbench

import (
	"regexp"
	"strings"

	"github.com/collabui/collabui/domain"
)

// node is an element of the simplified HTML: <tag[ID]| text; alt <child| …> >, an anonymous container < … >, or a run of text.
type node struct {
	tag, id  string
	text     string // of a run of text only
	children []*node
}

// maxNodes bounds the elements of one page.
const maxNodes = 5000

var opening = regexp.MustCompile(`^<(?:([A-Za-z][A-Za-z0-9-]*)?(?:\[([A-Z]+)\])?\|| )`)

// parsePage reads simplified HTML. It never fails: what is no tag is text, and missing ends are taken as said.
func parsePage(s string) *node {
	root := &node{}
	stack := []*node{root}
	var text strings.Builder
	flush := func() {
		if t := strings.Join(strings.Fields(text.String()), " "); t != "" {
			n := stack[len(stack)-1]
			n.children = append(n.children, &node{tag: n.tag, text: t})
		}
		text.Reset()
	}
	for at, count := 0, 0; at < len(s); {
		if s[at] == '<' && count < maxNodes {
			if m := opening.FindStringSubmatch(s[at:]); m != nil {
				flush()
				n := &node{tag: m[1], id: m[2]}
				top := stack[len(stack)-1]
				top.children = append(top.children, n)
				stack = append(stack, n)
				at += len(m[0])
				count++
				continue
			}
		}
		if s[at] == '>' && len(stack) > 1 {
			flush()
			stack = stack[:len(stack)-1]
			at++
			continue
		}
		text.WriteByte(s[at])
		at++
	}
	flush()
	return root
}

// roles of tags; others are text.
var roles = map[string]string{"a": "link", "button": "button", "input": "field", "textarea": "field", "select": domain.RoleSelect, "option": "option", "img": "image", "i": "image", "li": "item",
	"td": "cell", "th": "cell", "label": "label", "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading"}

// elements lists a page's elements in document order: every node with an ID, and every other text.
func (n *node) elements(out []domain.Element) []domain.Element {
	role := roles[n.tag]
	if role == "" {
		role = "text"
	}
	if n.id != "" {
		e := domain.Element{Index: len(out), ID: n.id, Role: role, Text: n.said(), Visible: true}
		switch {
		case role == "field" && (e.Text == "true" || e.Text == "false"):
			e.Role, e.State, e.Text = "checkbox", []string{map[string]string{"true": "checked", "false": "unchecked"}[e.Text]}, ""
		case role == "field":
			e.Editable, e.Value, e.Text = true, e.Text, ""
		}
		out = append(out, e)
	} else if n.text != "" {
		out = append(out, domain.Element{Index: len(out), ID: domain.NoID, Role: role, Text: n.text, Visible: true})
	}
	for _, c := range n.children {
		if n.id == "" || c.names() {
			out = c.elements(out)
		}
	}
	return out
}

// said is the text of a node's parts that have no ID of their own.
func (n *node) said() string {
	if n.text != "" {
		return n.text
	}
	var parts []string
	for _, c := range n.children {
		if c.id == "" {
			parts = append(parts, c.said())
		}
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// names tells whether a node with an ID is in the tree.
func (n *node) names() bool {
	if n.id != "" {
		return true
	}
	for _, c := range n.children {
		if c.names() {
			return true
		}
	}
	return false
}
