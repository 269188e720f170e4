package mind2web

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// maxText is the length, in bytes, at which the text of an element ends. The last piece of text may exceed it.
const maxText = 300

// voids are the tags without an end tag.
var voids = []string{
	"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
}

// node is an open element of a page. Its ID is the backend_node_id, or empty.
type node struct{ tag, id string }

// pageTexts returns the text below every node of a page that has a backend_node_id. It never fails, because the
// tokenizer accepts any bytes.
func pageTexts(page string) map[string]string {
	out := map[string]string{}
	var open []node
	tokenizer := html.NewTokenizer(strings.NewReader(page))
	for {
		switch tokenizer.Next() {
		case html.ErrorToken:
			return out
		case html.TextToken:
			addText(out, open, strings.Join(strings.Fields(string(tokenizer.Text())), " "))
		case html.StartTagToken:
			if tag, _ := tokenizer.TagName(); !slices.Contains(voids, string(tag)) {
				open = append(open, node{string(tag), nodeID(tokenizer)})
			}
		case html.EndTagToken:
			tag, _ := tokenizer.TagName()
			open = closeTag(open, string(tag))
		}
	}
}

// addText appends text to the texts of all open nodes.
func addText(texts map[string]string, open []node, text string) {
	if text == "" {
		return
	}

	for _, n := range open {
		if n.id != "" && len(texts[n.id]) < maxText {
			texts[n.id] = strings.TrimSpace(texts[n.id] + " " + text)
		}
	}
}

// closeTag closes the innermost open node with a tag, and the nodes inside it. An end tag without a start tag closes
// nothing.
func closeTag(open []node, tag string) []node {
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].tag == tag {
			return open[:i]
		}
	}

	return open
}

// nodeID returns the backend_node_id of the current start tag.
func nodeID(tokenizer *html.Tokenizer) string {
	id := ""
	for {
		k, v, more := tokenizer.TagAttr()
		if string(k) == "backend_node_id" {
			id = string(v)
		}
		if !more {
			return id
		}
	}
}
