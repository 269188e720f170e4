package synth

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Set is a data set to export.
type Set struct {
	Name   string // of its files: level1, epoch3-agent0
	System string // the system message; always sent explicitly, because templates of servers and trainers put in different ones
	Rows   []domain.Pair
}

// Export gives the files of data sets by name: for LLaMA-Factory sharegpt and alpaca with one dataset_info.json, and conversational preference JSONL. Images are named
// images/<digest>.png beside them. A set with rejected answers gives an SFT set of its chosen ones (-sft) and a ranking set (-dpo).
func Export(sets []Set) (map[string][]byte, error) {
	out, info := map[string][]byte{}, map[string]any{}
	for _, s := range sets {
		var sft, alpaca, ranking, alpacaRanking, preference bytes.Buffer
		images, pairs := false, 0
		for _, p := range s.Rows {
			images = images || p.Image != ""
		}
		for _, p := range s.Rows {
			user, pics := content(p), []string{}
			if p.Image != "" {
				pics = append(pics, ImageFile(p.Image))
			}
			row := func(b *bytes.Buffer, fields map[string]any) error {
				if images {
					fields["images"] = pics
				}
				raw, err := json.Marshal(fields)
				b.Write(append(raw, '\n'))
				return err
			}
			system, asked, chosen := Message{"system", s.System}, Message{"user", user}, Message{"assistant", p.Chosen}
			if err := row(&sft, map[string]any{"messages": []Message{system, asked, chosen}}); err != nil {
				return nil, err
			}
			if err := row(&alpaca, map[string]any{"system": s.System, "instruction": user, "input": "", "output": p.Chosen}); err != nil {
				return nil, err
			}
			conv := map[string]any{"prompt": []Message{system, {"user", p.Prompt}}, "chosen": []Message{chosen},
				"meta": map[string]any{"template": p.Template, "slot": p.Slot, "step": p.Step, "agent": p.Agent, "source": p.Source, "weight": p.Weight}}
			if p.Rejected != "" {
				pairs++
				rejected := Message{"assistant", p.Rejected}
				conv["rejected"] = []Message{rejected}
				if err := row(&ranking, map[string]any{"messages": []Message{system, asked}, "chosen": chosen, "rejected": rejected}); err != nil {
					return nil, err
				}
				if err := row(&alpacaRanking, map[string]any{"system": s.System, "instruction": user, "input": "", "chosen": p.Chosen, "rejected": p.Rejected}); err != nil {
					return nil, err
				}
			}
			if err := row(&preference, conv); err != nil {
				return nil, err
			}
		}
		name := "collabui_" + strings.ReplaceAll(s.Name, "-", "_")
		add := func(kind string, ranked bool, sharegpt, alp *bytes.Buffer) {
			out[s.Name+kind+".sharegpt.jsonl"], out[s.Name+kind+".alpaca.jsonl"] = sharegpt.Bytes(), alp.Bytes()
			key := name + strings.ReplaceAll(kind, "-", "_")
			info[key], info[key+"_alpaca"] = describe(s.Name+kind, ranked, images, true), describe(s.Name+kind, ranked, images, false)
		}
		if pairs > 0 {
			add("-sft", false, &sft, &alpaca)
			add("-dpo", true, &ranking, &alpacaRanking)
		} else {
			add("", false, &sft, &alpaca)
		}
		out[s.Name+".preference.jsonl"] = preference.Bytes()
	}
	raw, err := json.MarshalIndent(info, "", "  ")
	out["dataset_info.json"] = append(raw, '\n')
	return out, err
}

// ImageFile is the name of an exported screenshot.
func ImageFile(digest string) string { return "images/" + digest + ".png" }

// placeholders of LLaMA-Factory: a page that shows one must not be taken for an image.
var placeholders = strings.NewReplacer("<image>", "< image>", "<video>", "< video>", "<audio>", "< audio>")

// content is the user's message for LLaMA-Factory, with one placeholder per image.
func content(p domain.Pair) string {
	text := placeholders.Replace(p.Prompt)
	if p.Image != "" {
		return "<image>\n" + text
	}
	return text
}

// describe is a data set's entry in dataset_info.json.
func describe(file string, ranked, images, sharegpt bool) map[string]any {
	columns := map[string]string{}
	d := map[string]any{"columns": columns}
	if ranked {
		d["ranking"] = true
		columns["chosen"], columns["rejected"] = "chosen", "rejected"
	}
	if images {
		columns["images"] = "images"
	}
	if sharegpt {
		d["file_name"], d["formatting"] = file+".sharegpt.jsonl", "sharegpt"
		columns["messages"] = "messages"
		d["tags"] = map[string]string{"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant", "system_tag": "system"}
		return d
	}
	d["file_name"], d["formatting"] = file+".alpaca.jsonl", "alpaca"
	columns["prompt"], columns["query"], columns["system"] = "instruction", "input", "system"
	if !ranked {
		columns["response"] = "output"
	}
	return d
}

// Sample draws n rows of all sets together, the same number of each as far as there are, for a person to judge.
func Sample(sets []Set, n int, seed uint64) []Sampled {
	var out []Sampled
	left := n
	bySize := slices.Clone(sets)
	slices.SortStableFunc(bySize, func(a, b Set) int { return len(a.Rows) - len(b.Rows) })
	for i, s := range bySize {
		k := min(left/(len(bySize)-i), len(s.Rows))
		at := domain.Rand(seed, "sample", s.Name).Perm(len(s.Rows))[:k]
		slices.Sort(at)
		for _, r := range at {
			out = append(out, Sampled{Set: s.Name, Row: r + 1, Pair: s.Rows[r]})
		}
		left -= k
	}
	slices.SortStableFunc(out, func(a, b Sampled) int { return strings.Compare(a.Set, b.Set) })
	return out
}

// Sampled is one item of the sheet.
type Sampled struct {
	Set string
	Row int // from 1
	domain.Pair
}

// SheetCSV is the sheet for a spreadsheet; the columns right and note are for the person.
func SheetCSV(items []Sampled) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"set", "row", "template", "kind", "prompt", "answer", "rejected", "right (y/n)", "note"}}
	for _, x := range items {
		rows = append(rows, []string{x.Set, fmt.Sprint(x.Row), x.Template, string(x.Source), cellText(x.Prompt), cellText(x.Chosen), cellText(x.Rejected), "", ""})
	}
	err := w.WriteAll(rows)
	return b.Bytes(), err
}

// cellText keeps a spreadsheet from taking data for a formula.
func cellText(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

var sheet = template.Must(template.New("").Parse(`<!doctype html><meta charset="utf-8"><title>Sample to judge</title>
<style>body{font:14px system-ui,sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.5em;vertical-align:top;text-align:left}pre{white-space:pre-wrap;margin:0;max-width:46em}img{max-width:220px}.r{color:#a33}</style>
<h1>{{len .}} items to judge</h1><p>Is the answer right for what the prompt asks, and the rejected one wrong? Verdicts go into sample.csv, which has the same rows.</p>
<table><tr><th>#<th>set, row<th>kind<th>prompt<th>answer<th>rejected</tr>
{{range $i, $x := .}}<tr><td>{{$i}}<td>{{$x.Set}}, {{$x.Row}}<br>{{$x.Template}}<td>{{$x.Source}}<td>{{if $x.Image}}<img src="images/{{$x.Image}}.png" alt="screenshot"><br>{{end}}<pre>{{$x.Prompt}}</pre><td><pre>{{$x.Chosen}}</pre><td class="r"><pre>{{$x.Rejected}}</pre></tr>
{{end}}</table>
`))

// SheetHTML is the sheet for reading.
func SheetHTML(items []Sampled) ([]byte, error) {
	var b bytes.Buffer
	err := sheet.Execute(&b, items)
	return b.Bytes(), err
}
