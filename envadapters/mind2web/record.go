package mind2web

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// task is a record of the published files: a recorded task on one website. Parts that nothing here uses are left out.
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
	Tag  string `json:"tag"`
	Node string `json:"backend_node_id"`
	// Attributes is JSON in a string.
	Attributes string `json:"attributes"`
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
		if !slices.Contains([]string{opClick, opType, opSelect}, a.Operation.Op) {
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

// The recorded operations.
const (
	opClick  = "CLICK"
	opType   = "TYPE"
	opSelect = "SELECT"
)

// op returns the recorded operation in the form that the score compares.
func (a action) op() string { return strings.TrimSpace(a.Operation.Op + " " + a.Operation.Value) }

// do returns the recorded operation as an action on an element.
func (a action) do(node string) domain.Action {
	out := domain.Action{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: node}
	switch a.Operation.Op {
	case opType:
		out.Type = domain.ActionTypeString
		out.Text = a.Operation.Value
	case opSelect:
		out.Type = domain.ActionSelect
		out.Option = a.Operation.Value
	}

	return out
}
