package templates

import (
	"fmt"
	"slices"
	"text/template"
	"text/template/parse"
)

// builder checks the parts of a template, and lets every step of them write.
type builder struct {
	parts *template.Template
	part  string              // that is looked at
	calls map[string][]string // the parts that a part includes
}

// refused are the functions whose results grow when they are called again and again, and call, which calls what the
// data holds.
var refused = []string{"print", "println", "html", "js", "urlquery", "call"}

// list puts an empty text before every node of a list, and into an empty one, since a node may write nothing.
func (b *builder) list(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	var nodes []parse.Node
	for _, node := range list.Nodes {
		nodes = append(nodes, &parse.TextNode{NodeType: parse.NodeText, Pos: node.Position()}, node)
		if err := b.node(node); err != nil {
			return err
		}
	}
	if len(nodes) == 0 {
		nodes = append(nodes, &parse.TextNode{NodeType: parse.NodeText, Pos: list.Pos})
	}
	list.Nodes = nodes

	return nil
}

// node checks a node and what it contains.
func (b *builder) node(node parse.Node) error {
	switch node := node.(type) {
	case *parse.ActionNode:
		return b.pipe(node.Pipe)
	case *parse.IfNode:
		return b.branch(&node.BranchNode)
	case *parse.WithNode:
		return b.branch(&node.BranchNode)
	case *parse.RangeNode:
		for _, c := range node.Pipe.Cmds {
			if slices.ContainsFunc(c.Args, func(a parse.Node) bool { return a.Type() == parse.NodeNumber }) {
				return fmt.Errorf("line %d: expected a list after range, not a number", node.Line)
			}
		}

		return b.branch(&node.BranchNode)
	case *parse.TemplateNode:
		b.calls[b.part] = append(b.calls[b.part], node.Name)

		return b.pipe(node.Pipe)
	}

	return nil
}

func (b *builder) branch(branch *parse.BranchNode) error {
	err := b.pipe(branch.Pipe)
	if err == nil {
		err = b.list(branch.List)
	}
	if err == nil {
		err = b.list(branch.ElseList)
	}

	return err
}

// pipe checks a pipeline.
func (b *builder) pipe(pipe *parse.PipeNode) error {
	if pipe == nil {
		return nil
	}
	words := 0
	bad := ""
	var look func(node parse.Node)
	look = func(node parse.Node) {
		words++
		switch node := node.(type) {
		case *parse.PipeNode:
			for _, c := range node.Cmds {
				look(c)
			}
		case *parse.CommandNode:
			for _, a := range node.Args {
				look(a)
			}
		case *parse.ChainNode:
			look(node.Node)
		case *parse.IdentifierNode:
			if slices.Contains(refused, node.Ident) {
				bad = node.Ident
			}
		}
	}
	look(pipe)

	switch {
	case bad != "":
		return fmt.Errorf("line %d: the function %s cannot be used here", pipe.Line, bad)
	case words > maxWords:
		return fmt.Errorf("line %d: an action has %d words; expected at most %d", pipe.Line, words, maxWords)
	}

	return nil
}

// reaches reports whether a part includes another one, or parts that do.
func (b *builder) reaches(from, to string, seen map[string]bool) bool {
	for _, next := range b.calls[from] {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if b.reaches(next, to, seen) {
				return true
			}
		}
	}

	return false
}
