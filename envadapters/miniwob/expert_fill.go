package miniwob

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
)

// fill types one text into each field, in order, and submits.
func (p play) fill(texts ...string) (domain.Action, bool) {
	for i, e := range p.all(isField) {
		if i < len(texts) && texts[i] != "" && e.Value != texts[i] {
			return enter(e, texts[i])
		}
	}

	return p.submit()
}

// fillQuoted types the texts in quotes, or one text into all fields.
func fillQuoted(p play) (domain.Action, bool) {
	texts := slices.Clone(p.quoted)
	if len(texts) == 0 {
		return none, false
	}

	if strings.Contains(p.goal, "lower case") {
		texts[0] = strings.ToLower(texts[0])
	}

	if strings.Contains(p.goal, "upper case") {
		texts[0] = strings.ToUpper(texts[0])
	}

	if e, ok := p.named("Cancel"); ok { // a pop-up requests another login
		return click(e, true)
	}

	for len(texts) < len(p.all(isField)) {
		texts = append(texts, texts[0])
	}

	return p.fill(texts...)
}

var number = regexp.MustCompile(`-?\d+`)

// enterGoal types the date or the time of the goal.
func enterGoal(p play) (domain.Action, bool) {
	text := regexp.MustCompile(`\d+/\d+/\d+|\d+:\d+ [AP]M`).FindString(p.goal)
	if e, ok := p.first(isField); ok && e.Value == "" {
		return enter(e, text)
	}

	return p.submit()
}

// spin presses a spinner's buttons until it shows the goal's number.
func spin(p play) (domain.Action, bool) {
	field, ok := p.first(isField)
	want, _ := strconv.Atoi(number.FindString(p.goal))
	has, err := strconv.Atoi(field.Value)
	if !ok || err != nil {
		return none, false
	}

	way := "up"
	switch {
	case has == want:
		return p.submit()
	case has > want:
		way = "down"
	}

	return click(p.first(func(e domain.Element) bool { return strings.HasSuffix(e.Desc, "spinner-"+way) }))
}

// nth returns the ordinal in the goal, from 1.
func nth(goal string) int {
	if parts := ordinal.FindStringSubmatch(goal); parts != nil {
		n, _ := strconv.Atoi(parts[1])
		return max(n, 1)
	}

	return 1
}

// copyText types the contents of a text area into the field below.
func copyText(p play) (domain.Action, bool) {
	isArea := func(e domain.Element) bool { return e.Editable && e.Desc != "answer-input" }
	areas := p.all(isArea)
	n := nth(p.goal)
	target, ok := p.first(func(e domain.Element) bool { return e.Editable && !isArea(e) })
	if !ok || n > len(areas) {
		return none, false
	}

	if target.Value != areas[n-1].Value {
		return enter(target, areas[n-1].Value)
	}

	return p.submit()
}

// findWord types one word of a text.
func findWord(p play) (domain.Action, bool) {
	text, _ := p.first(roles("text"))
	words := strings.Fields(text.Text)
	n := nth(p.goal)
	if n > len(words) {
		return none, false
	}

	return p.fill(strings.TrimRight(words[n-1], ",."))
}

// typeShown types the text of the page.
func typeShown(p play) (domain.Action, bool) {
	text, _ := p.first(roles("text"))
	return p.fill(text.Text)
}

// readTable types the values that a table contains for the goal's label, or for the labels of the fields.
func readTable(p play) (domain.Action, bool) {
	cells := p.all(roles("cell"))
	value := func(label string) string {
		for i := 0; i+1 < len(cells); i += 2 {
			if strings.EqualFold(cells[i].Text, strings.Trim(label, ": ")) {
				return cells[i+1].Text
			}
		}
		return ""
	}

	_, label, _ := strings.Cut(p.goal, "the value of ")
	label, _, ok := strings.Cut(label, " into ")
	if ok {
		return p.fill(value(label))
	}

	var texts []string
	for _, e := range p.all(isField) {
		texts = append(texts, value(e.Text))
	}

	return p.fill(texts...)
}

var movie = regexp.MustCompile(`(\w+) movies directed by ([\w' -]+?) from (?:year )?(\d+)`)

// fillLabelled fills a film search.
func fillLabelled(p play) (domain.Action, bool) {
	parts := movie.FindStringSubmatch(p.goal)
	if parts == nil {
		return none, false
	}

	var texts []string
	// Every field has one label, and the labels come in the order of the fields.
	for _, e := range p.all(func(e domain.Element) bool { return !e.Editable }) {
		label := strings.ToLower(e.Text)
		if strings.Contains(label, "genre") {
			texts = append(texts, parts[1])
		}
		if strings.Contains(label, "director") {
			texts = append(texts, parts[2])
		}
		if strings.Contains(label, "year") {
			texts = append(texts, parts[3])
		}
		if strings.Contains(label, "date") {
			texts = append(texts, parts[3])
		}
	}

	return p.fill(texts...)
}

var (
	sum      = regexp.MustCompile(`(-?\d+) ([-+*x/]) (-?\d+) =`)
	equation = regexp.MustCompile(`(-?\w+) ([-+]) (-?\w+) = (-?\d+)`)
)

// solve computes a sum, or solves an equation for x.
func solve(p play) (domain.Action, bool) {
	for _, e := range p.all(roles("text")) {
		if parts := equation.FindStringSubmatch(e.Text); parts != nil {
			return p.fill(strconv.Itoa(unknown(parts)))
		}
		if matches := sum.FindStringSubmatch(e.Text); matches != nil {
			a, _ := strconv.Atoi(matches[1])
			b, _ := strconv.Atoi(matches[3])
			results := map[string]int{"+": a + b, "-": a - b, "x": a * b, "*": a * b}
			return p.fill(strconv.Itoa(results[matches[2]]))
		}
	}

	return none, false
}

// unknown returns the x of a match of equation.
func unknown(parts []string) int {
	a, _ := strconv.Atoi(parts[1])
	b, _ := strconv.Atoi(parts[3])
	c, _ := strconv.Atoi(parts[4])
	switch {
	case parts[1] == "x" && parts[2] == "+":
		return c - b
	case parts[1] == "x":
		return c + b
	case parts[2] == "+":
		return c - a
	}

	return a - c
}

// countBlocks counts the blocks of both heaps.
func countBlocks(p play) (domain.Action, bool) {
	isBlock := func(e domain.Element) bool { return strings.Contains(e.Desc, "addition-block") }
	return p.fill(strconv.Itoa(len(p.all(isBlock))))
}

// guesses are the next guesses of a number from 0 to 9, by the last guess and the page's answer. The first guess is 4.
var guesses = map[int]map[string]int{
	4: {"higher": 7, "lower": 1},
	7: {"higher": 8, "lower": 5},
	1: {"higher": 2, "lower": 0},
	5: {"higher": 6},
	2: {"higher": 3},
	8: {"higher": 9},
}

// guessNumber halves the remaining range after every answer of the page.
func guessNumber(p play) (domain.Action, bool) {
	field, ok := p.first(isField)
	if !ok {
		return none, false
	}

	hint, _ := p.first(func(e domain.Element) bool { return strings.Contains(e.Text, "number is") })
	parts := regexp.MustCompile(`number is (higher|lower) than (-?\d+)`).FindStringSubmatch(hint.Text)
	guess := 4
	if parts != nil {
		n, _ := strconv.Atoi(parts[2])
		guess = guesses[n][parts[1]]
	}

	if field.Value != fmt.Sprint(guess) {
		return enter(field, fmt.Sprint(guess))
	}

	return p.submit()
}

// autocomplete types the beginning and chooses the entry with the goal's ending.
func autocomplete(p play) (domain.Action, bool) {
	field, ok := p.first(isField)
	if !ok || len(p.quoted) == 0 {
		return none, false
	}

	end := ""
	if len(p.quoted) > 1 {
		end = p.quoted[1]
	}

	filled := strings.HasPrefix(field.Value, p.quoted[0]) && strings.HasSuffix(field.Value, end)
	if filled && (end == "" || len(field.Value) > len(p.quoted[0])) {
		return p.submit()
	}

	if field.Value != p.quoted[0] {
		return enter(field, p.quoted[0])
	}

	fits := func(e domain.Element) bool {
		return strings.HasPrefix(e.Text, p.quoted[0]) && strings.HasSuffix(e.Text, end) && !e.Editable
	}

	if e, ok := p.first(fits); ok {
		return click(e, true)
	}

	return scroll("down")
}

var sequence = regexp.MustCompile(
	`the (\d)\w\w (radio button|checkbox) and enter the number "(-?\d+)" into the (\d)\w\w`)

// fillSequence marks one radio button or checkbox and fills one field, both given by their position.
func fillSequence(p play) (domain.Action, bool) {
	parts := sequence.FindStringSubmatch(p.goal)
	if parts == nil {
		return none, false
	}

	i, _ := strconv.Atoi(parts[1])
	j, _ := strconv.Atoi(parts[4])
	boxes := p.all(roles("radio", "checkbox"))
	fields := p.all(isField)
	if i > len(boxes) || j > len(fields) {
		return none, false
	}

	if !has(boxes[i-1], "checked") {
		return click(boxes[i-1], true)
	}

	if fields[j-1].Value != parts[3] {
		return enter(fields[j-1], parts[3])
	}

	return p.submit()
}
