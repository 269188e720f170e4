package agents

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
)

// codeSpan matches code in a table of a document.
var codeSpan = regexp.MustCompile("```` (.*?) ````|`([^`]+)`")

// rows returns the cells of the tables in docs/method.md whose header row begins with head.
func rows(t *testing.T, head string) [][]string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/method.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "\n"+head)
	if !ok {
		t.Fatalf("docs/method.md has no table that begins with %q, want one", head)
	}
	var out [][]string
	for _, line := range strings.Split(table, "\n")[2:] {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		out = append(out, strings.Split(strings.Trim(line, "| "), " | "))
	}

	return out
}

// code returns the code spans of a table cell.
func code(cell string) []string {
	var out []string
	for _, m := range codeSpan.FindAllStringSubmatch(cell, -1) {
		out = append(out, strings.ReplaceAll(m[1]+m[2], "⏎", "\n"))
	}

	return out
}

func TestEveryRowOfWhatIsReadIsRead(t *testing.T) {
	described := map[Repair]bool{}
	for _, row := range rows(t, "| repair |") {
		repair := Repair(code(row[0])[0])
		example := code(row[2])[0]
		want := code(row[3])[0]
		described[repair] = true

		t.Run(string(repair), func(t *testing.T) {
			got := Reader{}.Cell(0, 0, example, "", domain.Observation{})
			if got.Action == nil || got.Action.JSON() != want {
				t.Errorf("%q is read as %+v (%s), want %s", example, got.Action, got.ParseError, want)
			}
			if !slices.Contains(got.Repaired, string(repair)) {
				t.Errorf("%q has the repairs %q, want %s among them", example, got.Repaired, repair)
			}
			if a, err := Strict.Answer(example); err == nil {
				t.Errorf("strictly, %q is read as %s, want an error", example, a.JSON())
			}
		})
	}

	all := []Repair{
		RepairMark, RepairBare, RepairQuotes, RepairWidth, RepairComma, RepairKey, RepairLiteral, RepairBreak,
		RepairEscape, RepairNumber, RepairText, RepairFlag, RepairCase, RepairSynonym, RepairField, RepairFamily,
	}
	for _, repair := range all {
		if !described[repair] {
			t.Errorf("docs/method.md does not describe the repair %s, want a row", repair)
		}
		delete(described, repair)
	}
	if len(described) > 0 {
		t.Errorf("docs/method.md describes %v, want only repairs that exist", slices.Collect(maps.Keys(described)))
	}
}

func TestEverySynonymIsInTheTable(t *testing.T) {
	types := map[domain.Family]map[string]meaning{domain.FamilyMobile: {}, domain.FamilyWeb: {}}
	others := map[string]map[string]string{"goal_status": {}, "direction": {}}
	for _, row := range rows(t, "| family | type |") {
		kind, value, _ := strings.Cut(code(row[1])[0], ": ")
		field := ""
		if value != "" {
			field = domainField(kind)
		}
		names, ofValue, _ := strings.Cut(row[2], "; as ")
		for _, name := range code(names) {
			types[domain.Family(row[0])][name] = meaning{Type: kind, Field: field, Value: value}
		}
		for _, name := range code(ofValue) {
			others[field][name] = value
		}
	}

	for family := range types {
		if !maps.Equal(types[family], synonyms[family]) {
			t.Errorf("docs/method.md has for %s\n%v, want\n%v", family, types[family], synonyms[family])
		}
	}
	for field := range others {
		if !maps.Equal(others[field], valueSynonyms[field]) {
			t.Errorf("docs/method.md has for %s\n%v, want\n%v", field, others[field], valueSynonyms[field])
		}
	}
}

// domainField returns the field that a row of the table sets together with the type.
func domainField(kind string) string {
	if kind == domain.ActionStatus {
		return "goal_status"
	}

	return "direction"
}

func TestSeveralRepairsOfOneAnswerAreReadTogether(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{
			text: "```json\n{'action_type': 'Tap', 'index': '7',}\n```",
			want: `{"action_type":"click","index":7}`,
		},
		{
			text: "Reason: it's \"odd\".\nAction： {'action_type': 'press_back'}",
			want: `{"action_type":"navigate_back"}`,
		},
		{
			text: `Action: {"action_type": "type", "index": 2.0, "text": 5}`,
			want: `{"action_type":"input_text","index":2,"text":"5"}`,
		},
		{
			text: `Action: {"action": "type", "element": "A", "text": "x", "press_enter": 1}`,
			want: `{"action":"type_string","element":"A","text":"x","press_enter":true}`,
		},
		{
			text: `Action: {"action_type": "status", "goal_status": "Completed"}`,
			want: `{"action_type":"status","goal_status":"complete"}`,
		},
		{
			text: `Action: {'action_type': 'answer', 'text': '5" {wide}'}`,
			want: `{"action_type":"answer","text":"5\" {wide}"}`,
		},
		{
			text: `Action: {"action_type": "click", "index": "3 "}`,
			want: `{"action_type":"click","index":3}`,
		},
		{
			text: "{'action_type': 'answer', 'text': 'don\\'t \"stop\" \u2019'} ",
			want: `{"action_type":"answer","text":"don't \"stop\" ’"}`,
		},
		{
			text: `Action: {"action_type": "scroll", "direction": "DOWN", "index": null}`,
			want: `{"action_type":"scroll","direction":"down"}`,
		},
	} {
		t.Run(c.want, func(t *testing.T) {
			if a, err := ParseAnswer(c.text); err != nil || a.JSON() != c.want {
				t.Errorf("ParseAnswer(%q) = %s, %v; want %s", c.text, a.JSON(), err, c.want)
			}
		})
	}
}

func TestAnAnswerAsAskedIsReadAsBefore(t *testing.T) {
	const wait = "{\"action_type\": \"wait\"}"
	for name, text := range map[string]string{
		"another form follows":   "Reason: r\nAction: " + wait + "\n**action**: {'action_type': 'tap', 'index': 3}",
		"an object follows":      "Action: " + wait + "\n```json\n{\"action_type\": \"click\", \"index\": 3}\n```",
		"an object comes before": "{'action_type': 'tap', 'index': 3}\nAction: " + wait,
		"the mark is in bold":    "**Action:** " + wait + " **",
		"a fence has no end":     "Action:\n```json\n" + wait,
		"a thought comes before": "<think>Action: {'action_type': 'tap', 'index': 3}</think>\nAction: " + wait,
		"a byte order mark":      "\ufeffAction: " + wait,
		"text follows":           "Action: " + wait + " // waits for {the page",
		"of several objects":     "Action: " + wait + " {\"action_type\": \"click\", \"index\": 3}",
	} {
		t.Run(name, func(t *testing.T) {
			want, err := Strict.Answer(text)
			if err != nil || want.Type != domain.ActionWait {
				t.Fatalf("strictly, %q is read as %s, %v; want wait", text, want.JSON(), err)
			}
			got := Reader{}.Cell(0, 0, text, "", domain.Observation{})
			if got.Action == nil || got.Action.JSON() != want.JSON() || got.Repaired != nil {
				t.Errorf("%q is read as %+v with the repairs %q, want %s and none",
					text, got.Action, got.Repaired, want.JSON())
			}
		})
	}
}

func TestWhatNoRowAllowsIsNotRead(t *testing.T) {
	for name, bad := range map[string]string{
		"half an index":        `Action: {"action_type": "click", "index": 3.5}`,
		"an index in words":    `Action: {"action_type": "click", "index": "the third"}`,
		"an unknown field":     `Action: {'action_type': 'click', 'index': 3, 'x': 2}`,
		"an unknown type":      `Action: {'action_type': 'fly', 'index': 3}`,
		"both keys of types":   `Action: {"action_type": "tap", "action": "click", "index": 3}`,
		"an object in a text":  `Action: {"action_type": "answer", "text": {"a": 1}}`,
		"two commas":           `Action: {"action_type": "wait",,}`,
		"no end":               `Action: {'action_type': 'wait'`,
		"words after a fence":  "```json\n{\"action_type\": \"wait\"}\n``` or not",
		"an object in a plan":  `I could say {"action_type": "wait"} now.`,
		"two fenced objects":   "```\n{\"action_type\": \"wait\"} {\"action_type\": \"wait\"}\n```",
		"a comment":            `Action: {"action_type": "wait" /* or not */}`,
		"a call":               `Action: tap(3)`,
		"French quotes":        `Action: {«action_type»: «wait»}`,
		"full-width digits":    `Action: {"action_type": "click", "index": ３}`,
		"an exponent":          `Action: {"action_type": "click", "index": 1e2}`,
		"a hexadecimal index":  `Action: {"action_type": "click", "index": "0x1p4"}`,
		"an infinite index":    `Action: {"action_type": "click", "index": "Inf"}`,
		"an index with a plus": `Action: {"action_type": "click", "index": "+3"}`,
		"quotes that differ":   `Action: {"action_type': "wait"}`,
		"missing index stays":  `Action: {'action_type': 'tap'}`,
		"a key with no value":  `Action: {action_type}`,
		"nested beyond bounds": "Action: {'a': " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			if a, err := ParseAnswer(bad); err == nil {
				t.Errorf("ParseAnswer(%q) = %s, want an error", bad, a.JSON())
			}
		})
	}
}

func TestHelpersAnswersAreRepairedAlike(t *testing.T) {
	for text, want := range map[string]string{
		"{'grades': [{'cell': '0.0', 'reason': 'it\\'s',},]}": `{"grades":[{"cell":"0.0","reason":"it's"}]}`,
		"Here: ｛“grades”：［］｝ done":                            `{"grades":[]}`,
		"{grades: [True, None]}":                              `{"grades":[true,null]}`,

		`Draft: {"grades":[1]} On reflection: {"grades":[2]} Done {}.`: `{"grades":[2]}`,
		`{"grades":[3]}, not {"a":{"grades":[1]}} or {"grades":[`:      `{"grades":[3]}`,
	} {
		t.Run(want, func(t *testing.T) {
			if got, ok := FindObject(text, "grades"); !ok || got != want {
				t.Errorf("FindObject(%q) = %q, %v; want %s", text, got, ok, want)
			}
		})
	}
}

func TestCellsThatWereRepairedAreCounted(t *testing.T) {
	d := domain.Decision{Cells: []domain.Cell{
		NewCell(0, 0, click(3), "", domain.Observation{}),
		NewCell(0, 1, `Action: {"action_type": "tap", "index": 3}`, "", domain.Observation{}),
		NewCell(1, 0, "Action: none", "", domain.Observation{}),
	}}
	if got := d.Repaired(); got != 1 {
		t.Errorf("Repaired() = %d, want 1", got)
	}
	strict := Reader{Parsing: Strict}.Cell(0, 0, d.Cells[1].Text, "", domain.Observation{})
	if strict.Action != nil || strict.ParseError == "" || strict.Repaired != nil {
		t.Errorf("strictly, the cell is %+v, want one that does not parse", strict)
	}
}
