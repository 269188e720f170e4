package interop

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
)

// Table is a table about a run.
type Table struct {
	Name    string
	Columns []string
	Rows    [][]any // text, bool, int, float64, or nil where the value is unknown
}

// Tables returns the tables run, parameters, results, curve, updates, training and costs.
func (r Records) Tables() ([]Table, error) {
	parameters, err := r.parameters()
	about := Table{
		Name: "run", Columns: []string{"run", "specification", "epochs", "ended"},
		Rows: [][]any{{string(r.Run), r.Stored.SHA256, len(r.Epochs), r.Ended}},
	}

	return []Table{about, parameters, r.results(), r.curve(), r.updates(), r.training(), r.costs()}, err
}

// parameters returns the keys of the specification, such as train.beta. The addresses of models and the texts of
// prompts are left out.
func (r Records) parameters() (Table, error) {
	table := Table{Name: "parameters", Columns: []string{"run", "key", "value"}}
	raw, err := json.Marshal(r.Spec)
	if err != nil {
		return table, fault.As(fault.Fatal, err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return table, fault.As(fault.Fatal, err)
	}
	delete(all, "models")
	delete(all, "prompts")
	values := map[string]string{}
	flatten(values, "", all)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		table.Rows = append(table.Rows, []any{string(r.Run), key, values[key]})
	}

	return table, nil
}

// flatten adds the keys of a document, and the keys below them, to out.
func flatten(out map[string]string, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if name != "" {
				key = name + "." + key
			}
			flatten(out, key, below)
		}
	case string:
		out[name] = v
	default:
		raw, _ := json.Marshal(v) // the value came from JSON
		out[name] = string(raw)
	}
}

func (r Records) results() Table {
	table := Table{Name: "results", Columns: []string{
		"run", "folder", "epoch", "system", "split", "environment", "episodes", "successes", "missing", "rate", "low",
		"high", "calls", "prompt_tokens", "answer_tokens", "decoding",
	}}
	for _, e := range r.Results {
		table.Rows = append(table.Rows, []any{
			string(r.Run), e.Folder, e.Epoch, e.System, e.Split, e.Environment, e.Episodes, e.Successes, e.Missing,
			e.Rate, e.Low, e.High, e.Cost.Calls, e.Cost.Prompt, e.Cost.Answer, e.Decoding,
		})
	}

	return table
}

func (r Records) curve() Table {
	table := Table{Name: "curve", Columns: []string{
		"run", "epoch", "val_episodes", "val_successes", "val_rate", "val_low", "val_high", "rollout_episodes",
		"rollout_successes", "rollout_rate", "pairs", "failed_slots", "kept", "digest",
	}}
	row := func(epoch int, val *runs.Result) []any {
		if val == nil {
			return []any{string(r.Run), epoch, nil, nil, nil, nil, nil}
		}

		return []any{string(r.Run), epoch, val.Episodes, val.Successes, val.Rate, val.Low, val.High}
	}
	if base, ok := r.base(); ok {
		table.Rows = append(table.Rows, append(row(0, &base.Result), nil, nil, nil, nil, nil, nil, nil))
	}
	for _, c := range r.Epochs {
		table.Rows = append(table.Rows, append(row(c.Number, c.Val),
			c.Rollouts.Episodes, c.Rollouts.Successes, c.Rollouts.Rate, c.Epoch.Pairs, c.FailedAll, c.Kept, c.Digest))
	}

	return table
}

func (r Records) updates() Table {
	table := Table{Name: "updates", Columns: []string{
		"run", "epoch", "agent", "pairs", "steps", "skipped", "loss", "kl", "kl_base", "entropy", "margin", "displaced",
		"parse_rate", "kept", "policy",
	}}
	for _, committed := range r.Epochs {
		for i, u := range committed.Updates {
			row := []any{string(r.Run), committed.Number, u.Agent, committed.Pairs[i], u.Steps, u.Skipped, nil}
			if n := len(u.Curve); n > 0 {
				row[6] = u.Curve[n-1].Loss
			}
			probed := []any{nil, nil, nil, nil, nil, nil}
			if p := u.Probe; p.Prompts > 0 {
				if p.Unknown == "" {
					probed = []any{p.KL, p.KLBase, p.Entropy, nil, nil, nil}
				}
				if p.Unknown == "" && p.Rejected != (domain.LogProbs{}) { // else nothing was rejected
					probed[3] = p.Chosen.Change() - p.Rejected.Change()
					probed[4] = p.Displaced
				}
				probed[5] = p.ParseRate
			}
			table.Rows = append(table.Rows, append(append(row, probed...), u.Kept, u.Policy.Digest))
		}
	}

	return table
}

func (r Records) training() Table {
	table := Table{
		Name: "training", Columns: []string{"run", "epoch", "agent", "step", "steps", "loss", "margin", "accuracy"},
	}
	for _, committed := range r.Epochs {
		for _, update := range committed.Updates {
			for _, p := range update.Curve {
				table.Rows = append(table.Rows, []any{
					string(r.Run), committed.Number, update.Agent, p.Step, p.Steps, p.Loss, p.Margin, p.Accuracy,
				})
			}
		}
	}

	return table
}

func (r Records) costs() Table {
	t := Table{Name: "costs", Columns: []string{
		"run", "role", "model", "epoch", "calls", "tokens", "money", "estimated_calls",
	}}
	for _, s := range r.Spending {
		t.Rows = append(t.Rows, []any{string(r.Run), s.Role, s.Model, s.Epoch, s.Calls, s.Tokens, s.Money, s.Estimated})
	}

	return t
}

// CSV returns the table as CSV with a line of column names. Unknown values are empty. A text that a spreadsheet would
// interpret as a formula has an apostrophe in front.
func (t Table) CSV() ([]byte, error) {
	var out bytes.Buffer
	writer := csv.NewWriter(&out)
	_ = writer.Write(t.Columns)
	for _, row := range t.Rows {
		line := make([]string, len(row))
		for i, value := range row {
			switch v := value.(type) {
			case nil:
			case string:
				line[i] = Inert(v)
			case float64:
				line[i] = strconv.FormatFloat(v, 'g', -1, 64)
			default:
				line[i] = fmt.Sprint(v)
			}
		}
		_ = writer.Write(line)
	}
	writer.Flush()

	return out.Bytes(), writer.Error()
}

// Inert returns a text that no spreadsheet interprets as a formula.
func Inert(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}

	return text
}

// JSON returns the table as a list of objects.
func (t Table) JSON() ([]byte, error) {
	rows := make([]map[string]any, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = map[string]any{}
		for k, name := range t.Columns {
			rows[i][name] = row[k]
		}
	}

	return json.MarshalIndent(rows, "", " ")
}
