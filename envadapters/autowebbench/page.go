package autowebbench

import (
	"regexp"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// node is an element of the simplified HTML: <tag[ID]| text; alt <child| …> >, an anonymous container < … >, or a run
// of text.
type node struct {
	tag, id string
	// text is empty unless the node is a run of text.
	text     string
	children []*node
}

// maxNodes is the largest number of elements of one page.
const maxNodes = 5000

var opening = regexp.MustCompile(`^<(?:([A-Za-z][A-Za-z0-9-]*)?(?:\[([A-Z]+)\])?\|| )`)

// parsePage reads simplified HTML. It never fails: anything that is not a tag is text, and elements still open end with
// the page.
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
			if parts := opening.FindStringSubmatch(s[at:]); parts != nil {
				flush()
				n := &node{tag: parts[1], id: parts[2]}
				top := stack[len(stack)-1]
				top.children = append(top.children, n)
				stack = append(stack, n)
				at += len(parts[0])
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

// roles maps tags to roles. Other tags have the role text.
var roles = map[string]string{
	"a":        "link",
	"button":   "button",
	"h1":       "heading",
	"h2":       "heading",
	"h3":       "heading",
	"h4":       "heading",
	"h5":       "heading",
	"h6":       "heading",
	"i":        "image",
	"img":      "image",
	"input":    "field",
	"label":    "label",
	"li":       "item",
	"option":   "option",
	"select":   domain.RoleSelect,
	"td":       "cell",
	"textarea": "field",
	"th":       "cell",
}

func (n *node) role() string {
	if r := roles[n.tag]; r != "" {
		return r
	}
	return "text"
}

// elements appends the elements of a page in document order: all nodes with an ID, and all text outside of them.
func (n *node) elements(out []domain.Element) []domain.Element {
	switch {
	case n.id != "":
		out = append(out, n.element(len(out)))
	case n.text != "":
		out = append(out, unnamed(len(out), n.role(), n.text))
	}

	for _, c := range n.children {
		if n.id == "" || c.names() {
			out = c.elements(out)
		}
	}

	return out
}

// element returns the element of a node with an ID. A field whose text is true or false is a checkbox.
func (n *node) element(index int) domain.Element {
	e := domain.Element{Index: index, ID: n.id, Role: n.role(), Visible: true}
	text := n.ownText()
	switch {
	case e.Role != "field":
		e.Text = text
	case text == "true":
		e.Role = "checkbox"
		e.State = []string{"checked"}
	case text == "false":
		e.Role = "checkbox"
		e.State = []string{"unchecked"}
	default:
		e.Editable = true
		e.Value = text
	}

	return e
}

// unnamed returns an element without an ID, which no action can name.
func unnamed(index int, role, text string) domain.Element {
	return domain.Element{Index: index, ID: domain.NoID, Role: role, Text: text, Visible: true}
}

// ownText returns the text of a node without the text of descendants with an ID.
func (n *node) ownText() string {
	if n.text != "" {
		return n.text
	}

	var parts []string
	for _, c := range n.children {
		if c.id == "" {
			parts = append(parts, c.ownText())
		}
	}

	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// names reports whether the tree contains a node with an ID.
func (n *node) names() bool {
	return n.id != "" || slices.ContainsFunc(n.children, (*node).names)
}
