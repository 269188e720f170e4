package miniwob

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
)

// chooseDate pages through a calendar to the goal's month and clicks its day.
func chooseDate(p play) (domain.Action, bool) {
	want, err := time.Parse("01/02/2006", regexp.MustCompile(`\d+/\d+/\d+`).FindString(p.goal))
	if err != nil {
		return none, false
	}

	filled, ok := p.first(func(e domain.Element) bool { return e.Role == "field" && e.Value != "" })
	if ok && filled.Value == want.Format("01/02/2006") {
		return p.submit()
	}

	var shown time.Time
	for _, e := range p.all(roles("text")) {
		if at, err := time.Parse("January 2006", e.Text); err == nil {
			shown = at
		}
	}

	if shown.IsZero() {
		return click(p.first(roles("field")))
	}

	month := func(moment time.Time) int { return moment.Year()*12 + int(moment.Month()) }
	switch d := month(want) - month(shown); {
	case d < 0:
		return click(p.named("Prev"))
	case d > 0:
		return click(p.named("Next"))
	}

	day := strconv.Itoa(want.Day())

	return click(p.first(func(e domain.Element) bool { return e.Role == "link" && e.Text == day }))
}

// handleEmail finds the goal's mail and deletes, stars, answers or forwards it.
func handleEmail(p play) (domain.Action, bool) {
	parts := regexp.MustCompile(`email by (\w+)`).FindStringSubmatch(p.goal)
	if parts == nil {
		return none, false
	}

	to := regexp.MustCompile(`forward that email to (\w+)`).FindStringSubmatch(p.goal)
	if field, ok := p.first(isField); ok { // an answer or a forwarded mail is open
		text := append(p.quoted, "")[0]
		if to != nil {
			text = to[1]
		}
		if strings.TrimSpace(field.Value) != text { // Enter, after typed text, is a line break in an answer
			return enter(field, text)
		}
		return click(p.first(func(e domain.Element) bool {
			return e.Role != "text" && strings.Contains(e.Desc, "send")
		}))
	}

	button := "reply"
	switch {
	case strings.Contains(p.goal, "trash"):
		button = "trash"
	case strings.Contains(p.goal, "star"):
		button = "star"
	case to != nil:
		button = "forward"
	}

	inbox := slices.ContainsFunc(p.o.Elements, func(e domain.Element) bool { return e.Text == "Primary" })
	isButton := func(e domain.Element) bool {
		return e.Role != "text" && slices.Contains(strings.Fields(e.Desc+" "+strings.ToLower(e.Text)), button)
	}

	if !inbox {
		if e, ok := p.first(func(e domain.Element) bool {
			return e.Role != "text" && (strings.Contains(e.Desc, button) || strings.EqualFold(e.Text, button))
		}); ok {
			return click(e, true)
		}
		return scroll("down")
	}

	sender, ok := p.first(func(e domain.Element) bool { return e.Text == parts[1] })
	if !ok {
		return scroll("down")
	}

	if button == "trash" || button == "star" {
		return click(p.first(func(e domain.Element) bool { return e.Index > sender.Index && isButton(e) }))
	}

	return click(sender, true)
}

// pagers are the links of a search engine that lead to other pages of results.
var pagers = []string{"<", ">", "«", "»", "‹", "›", "First", "Last", "Previous", "Next"}

// search searches and pages to the result whose number the goal gives. A page shows three results.
func search(p play) (domain.Action, bool) {
	field, ok := p.first(isField)
	if !ok || len(p.quoted) == 0 {
		return none, false
	}

	if field.Value != p.quoted[0] {
		return enter(field, p.quoted[0])
	}

	n := nth(p.goal)
	page := strconv.Itoa((n-1)/3 + 1)
	isPage := regexp.MustCompile(`^\d$`)
	titles := p.all(func(e domain.Element) bool {
		return e.Role == "link" && !isPage.MatchString(e.Text) && !slices.Contains(pagers, e.Text)
	})

	if len(titles) == 0 {
		return click(p.named("Search"))
	}

	if page != "1" && p.lastAction() != "click "+page {
		return click(p.first(func(e domain.Element) bool { return e.Text == page }))
	}

	if k := (n - 1) % 3; k < len(titles) {
		return click(titles[k], true)
	}

	return none, false
}

// phoneBook pages to a person and clicks the number, address or mail of the goal.
func phoneBook(p play) (domain.Action, bool) {
	parts := regexp.MustCompile(`Find (\w+) in .* their (\w+)`).FindStringSubmatch(p.goal)
	if parts == nil {
		return none, false
	}

	if e, ok := p.first(roles("heading")); ok && e.Text == parts[1] {
		label, ok := p.first(func(e domain.Element) bool {
			return strings.EqualFold(strings.TrimSuffix(e.Text, ":"), parts[2])
		})
		if !ok {
			return none, false
		}
		return click(p.first(func(e domain.Element) bool { return e.Index > label.Index && e.Role == "link" }))
	}

	return click(p.named(">"))
}

// socialMedia presses one button on posts of one user, as often as the goal states.
func socialMedia(p play) (domain.Action, bool) {
	user := strings.TrimRight(regexp.MustCompile(`@\w+`).FindString(p.goal), ".,")
	if user == "" || len(p.quoted) == 0 {
		return none, false
	}

	want := -1
	many := strings.Contains(p.goal, "posts by")
	if parts := regexp.MustCompile(`on (\d+) posts?`).FindStringSubmatch(p.goal); parts != nil {
		want, _ = strconv.Atoi(parts[1])
	} else if !many {
		want = 1
	}

	button := "more"
	switch p.quoted[0] {
	case "Reply", "Retweet", "Like", "Share":
		button = strings.ToLower(p.quoted[0])
	}

	inMenu := func(e domain.Element) bool { return e.Text == p.quoted[0] || e.Text == p.quoted[0]+" "+user }
	if e, ok := p.first(inMenu); ok {
		return click(e, true)
	}

	if strings.HasPrefix(p.lastAction(), "click more") {
		return scroll("down")
	}

	owner := ""
	pressed := 0
	var todo []domain.Element
	for _, e := range p.o.Elements {
		if m := regexp.MustCompile(`@\w+`).FindString(e.Text); m != "" {
			owner = m
		}
		if owner != user || !slices.Contains(strings.Fields(e.Desc), button) {
			continue
		}
		if has(e, "selected") {
			pressed++
		} else {
			todo = append(todo, e)
		}
	}

	if len(todo) == 0 || want >= 0 && pressed >= want {
		return p.submit()
	}

	if i := slices.IndexFunc(todo, domain.Element.Shown); i >= 0 {
		return click(todo[i], true)
	}

	if todo[0].Bounds[1] < 50 {
		return scroll("up")
	}

	return scroll("down")
}

// buyTicket takes the cheapest or the shortest flight.
func buyTicket(p play) (domain.Action, bool) {
	best := domain.Element{}
	least := 1 << 30
	minutes := 0
	for _, e := range p.o.Elements {
		if parts := regexp.MustCompile(`(\d+)h (\d+)m`).FindStringSubmatch(e.Text); parts != nil {
			h, _ := strconv.Atoi(parts[1])
			q, _ := strconv.Atoi(parts[2])
			minutes = h*60 + q
		}
		matches := regexp.MustCompile(`\$(\d+)`).FindStringSubmatch(e.Text)
		if matches == nil || e.Role != "button" {
			continue
		}
		v, _ := strconv.Atoi(matches[1])
		if strings.Contains(p.goal, "duration") {
			v = minutes
		}
		if strings.Contains(p.goal, "most expensive") || strings.Contains(p.goal, "longest") {
			v = -v
		}
		if v < least {
			best = e
			least = v
		}
	}

	if least < 1<<30 && !best.Visible {
		return scroll("down")
	}

	return click(best, least < 1<<30)
}

// findGreatest takes the card with the greatest number.
func findGreatest(p play) (domain.Action, bool) {
	if len(p.memo.done) > 0 {
		return p.submit()
	}

	cards := p.all(func(e domain.Element) bool { return e.Role == "item" && number.MatchString(e.Text) })
	if len(cards) == 0 {
		return none, false
	}

	value := func(e domain.Element) int { n, _ := strconv.Atoi(e.Text); return n }

	return click(slices.MaxFunc(cards, func(a, b domain.Element) int { return value(a) - value(b) }), true)
}

// generateNumber draws numbers until one fits.
func generateNumber(p play) (domain.Action, bool) {
	limit, _ := strconv.Atoi(number.FindString(p.goal))
	shown, ok := p.first(func(e domain.Element) bool { return e.Role == "text" && number.MatchString(e.Text) })
	n, _ := strconv.Atoi(shown.Text)
	fits := ok && (strings.Contains(p.goal, "less") && n < limit ||
		strings.Contains(p.goal, "greater") && n > limit ||
		strings.Contains(p.goal, "odd") && n%2 != 0 ||
		strings.Contains(p.goal, "even") && n%2 == 0)
	if fits {
		return p.submit()
	}

	return click(p.named("Generate"))
}

// oddOrEven presses a button next to every number.
func oddOrEven(p play) (domain.Action, bool) {
	els := p.o.Elements
	for i := 1; i+1 < len(els); i++ {
		n, err := strconv.Atoi(els[i].Text)
		if err != nil {
			continue
		}
		b := els[i-1] // Odd comes before the number, Even after it
		if n%2 == 0 {
			b = els[i+1]
		}
		if has(b, "selected") {
			continue
		}
		if !b.Shown() {
			return scroll("down")
		}
		return click(b, true)
	}

	return p.submit()
}
