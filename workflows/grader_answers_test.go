package workflows_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// completion returns the body of a chat completion.
func completion(content string, asked int) []byte {
	message := map[string]string{"role": "assistant", "content": content}
	body, err := json.Marshal(map[string]any{
		"choices": []any{map[string]any{"message": message}},
		"usage":   map[string]int{"prompt_tokens": asked / 4, "completion_tokens": len(content) / 4},
	})
	if err != nil {
		panic(err)
	}

	return body
}

// repaired returns the entries that a repair asks for again.
func repaired(list []string, request string) []string {
	_, missing, _ := strings.Cut(request, "these cells:")

	return slices.DeleteFunc(list, func(x string) bool {
		return !strings.Contains(missing+" ", " "+cellName.FindString(x)+" ")
	})
}

var (
	goalQuoted  = regexp.MustCompile(`Goal:\n\| Tap (.*)\n`)
	goalPlain   = regexp.MustCompile(`Goal: Tap (.*)\n`)
	countQuoted = regexp.MustCompile(`\| \d+ text count (\d+)`)
	countPlain  = regexp.MustCompile(`\d+ text count (\d+)`)
	quoted      = regexp.MustCompile(`(?m)^\| (\d+) button (\S+)`)
	plain       = regexp.MustCompile(`(?m)^(\d+) button (\S+)`)
	done        = regexp.MustCompile(`Action:\n\| (.*)\n`)
	proposal    = regexp.MustCompile(`(\d+\.\d+)\n\| [^\n]*"click","index":(\d+)`)
	cellName    = regexp.MustCompile(`\d+\.\d+`)
)

// answer returns the right answer to a prompt of any role.
func answer(system, user string) reply {
	switch {
	case strings.Contains(system, "by making mistakes"):
		return reply{"answers", mistakes(user)}
	case strings.Contains(system, "write questions and answers"):
		return reply{"items", questions(user)}
	case strings.Contains(system, "write one-step instructions"):
		return reply{"items", instructions(user)}
	case strings.Contains(system, "keep the history"):
		return reply{"", []string{"tapped " + done.FindStringSubmatch(user)[1]}}
	case strings.HasPrefix(system, "You operate"):
		const form = "Reason: It is next.\nAction: {\"action_type\":\"click\",\"index\":%s}"
		return reply{"", []string{fmt.Sprintf(form, elements(plain, user)[wanted(goalPlain, countPlain, user)])}}
	}

	return reply{"grades", grades(user)}
}

// elements returns the numbers of the buttons on the screen by their names.
func elements(form *regexp.Regexp, user string) map[string]string {
	out := map[string]string{}
	for _, m := range form.FindAllStringSubmatch(user, -1) {
		out[m[2]] = m[1]
	}

	return out
}

// wanted returns the name of the button that the goal asks for now.
func wanted(goal, count *regexp.Regexp, user string) string {
	at, _ := strconv.Atoi(count.FindStringSubmatch(user)[1])

	return strings.Split(goal.FindStringSubmatch(user)[1], " then ")[at]
}

// mistakes are answers of the adversary: clicks on the elements that are not right.
func mistakes(user string) []string {
	const form = `{"reason":"this element serves the goal.","action":{"action_type":"click","index":%d}}`
	_, right, _ := strings.Cut(user, "The right action:\n")

	var out []string
	for i := range 6 {
		if !strings.Contains(right, fmt.Sprintf(`"index":%d`, i)) {
			out = append(out, fmt.Sprintf(form, i))
		}
	}

	return out
}

// questions are items of level 1, the last of which is not about the screen.
func questions(user string) []string {
	const form = `{"kind":"function","question":"Which element is %s","answer":"","element":%s}`
	out := []string{
		`{"kind":"purpose","question":"What is this screen for","answer":"something that is not on it"}`,
	}
	for name, i := range elements(quoted, user) {
		out = append(out, fmt.Sprintf(form, name, i))
	}
	slices.Sort(out)

	return out
}

// instructions are items of level 2, two of which name elements that do not fit.
func instructions(user string) []string {
	const form = `{"instruction":"Tap %s","reason":"The goal names it.","action":{"action_type":"click","index":%s}}`
	out := []string{
		`{"instruction":"A","reason":"r","action":{"action_type":"input_text","index":0,"text":"a"}}`,
		`{"instruction":"A","reason":"r","action":{"action_type":"click","index":77}}`,
	}
	for name, i := range elements(quoted, user) {
		out = append(out, fmt.Sprintf(form, name, i))
	}
	slices.Sort(out)

	return out
}

// grades scores all proposals of a prompt: 1 for a click on the wanted button, and 0 for others.
func grades(user string) []string {
	right := elements(quoted, user)[wanted(goalQuoted, countQuoted, user)]
	_, list, _ := strings.Cut(user, "Proposals:\n")
	list, asked, _ := strings.Cut(list, "Grade these")

	scores := map[string]int{}
	for _, id := range cellName.FindAllString(asked[strings.Index(asked, ":"):], -1) {
		scores[id] = 0
	}
	for _, m := range proposal.FindAllStringSubmatch(list, -1) {
		if m[2] == right {
			scores[m[1]] = 1
		}
	}

	var out []string
	for id, s := range scores {
		out = append(out, fmt.Sprintf(`{"cell":%q,"reason":"r","score":%d}`, id, s))
	}
	slices.Sort(out)

	return out
}
