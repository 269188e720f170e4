package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/collabui/collabui/internal/records/runs"
)

// forecast returns the cost of all calls of a run at its end, if the remaining epochs cost as much as the committed
// ones. It returns 0 before the first commit.
func forecast(all []runs.Spending, committed, epochs int) float64 {
	before, inEpochs := 0.0, 0.0
	for _, s := range all {
		switch {
		case s.Epoch == 0:
			before += s.Money
		case s.Epoch <= committed:
			inEpochs += s.Money
		}
	}
	if committed == 0 {
		return 0
	}

	return before + inEpochs*float64(epochs)/float64(committed)
}

// costText prints the cost of calls to chat endpoints: in all, and by role and model.
func (st status) costText(w io.Writer) {
	if st.Spent == nil {
		return
	}
	more := ""
	if st.Forecast > 0 && st.Epoch < st.Epochs {
		more = fmt.Sprintf(", about %.2f after epoch %d", st.Forecast, st.Epochs)
	}
	say(w, "chat endpoints: %d recorded calls, %s, cost %.4f%s", st.Spent.Calls, tokensText(*st.Spent), st.Spent.Money,
		more)

	type user struct{ role, model string }
	users := map[user]runs.Spent{}
	for _, s := range st.Spending {
		u := user{s.Role, s.Model}
		users[u] = users[u].Plus(s.Spent)
	}
	var names []user
	for u := range users {
		names = append(names, u)
	}
	slices.SortFunc(names, func(a, b user) int {
		return cmp.Or(cmp.Compare(users[b].Money, users[a].Money),
			cmp.Compare(a.role, b.role), cmp.Compare(a.model, b.model))
	})
	for _, u := range names {
		say(w, "  %s, %s: %d calls, %s, %.4f", u.role, u.model, users[u].Calls, tokensText(users[u]), users[u].Money)
	}
}

// tokensText returns the tokens that calls used, and for how many of the calls they are estimated.
func tokensText(s runs.Spent) string {
	if s.Estimated == 0 {
		return fmt.Sprintf("%d tokens", s.Tokens)
	}

	return fmt.Sprintf("%d tokens (estimated for %d calls, of which the server reports none)", s.Tokens, s.Estimated)
}
