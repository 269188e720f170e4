package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

func (st Report) text(out io.Writer) {
	terminal.Line(out, "%s: %s, stage %s, %d of %s committed", st.Name, st.Status, st.Stage, st.Epoch,
		terminal.Count(st.Epochs, "epoch"))
	if st.Reason != "" {
		terminal.Line(out, "reason: %s", st.Reason)
	}
	if st.Warning != "" {
		terminal.Line(out, "warning: %s", st.Warning)
	}
	if st.View != "" {
		terminal.Line(out, "see every episode: %s", st.View)
	}
	st.Live.text(out)
	if st.Live != nil && st.Status == statePaused {
		st.Live.PrintRunning(out)
	}
	for _, finding := range st.Problems {
		finding.Text(out)
	}
	st.costText(out)
	switch {
	case st.Origin != nil:
		terminal.Line(out, "comes from: %s, of which it is a fork after epoch %d", st.Origin.Run, st.Origin.Epoch)
	case st.Spec.FineTune.Base != "":
		terminal.Line(out, "comes from: finetune.base %s, with which stage 1 began", st.Spec.FineTune.Base)
	}
	if st.Base != nil {
		last := st.Base.Curve[len(st.Base.Curve)-1]
		terminal.Line(out, "base policy after %s, %s on val %.1f %% (%s; in the band: %v)",
			terminal.Count(last.At, "optimiser step"), tunedPlayers(st.Spec), 100*last.Rate, st.Base.StoppedBy,
			st.Base.InBand)
		if st.Base.Unplayed > 0 {
			terminal.Line(out, "could not be played: %s of stage 1", terminal.Count(st.Base.Unplayed, "training task"))
		}
	}

	if len(st.Curve) > 0 {
		terminal.Line(out, "\nval by epoch (epoch 0 is the base system)")
		for _, p := range st.Curve {
			terminal.Line(out, "  %3d %5.1f %% %s", p.At, 100*p.Rate, strings.Repeat("█", int(40*p.Rate+0.5)))
		}
	}
	st.leftOutText(out)
	st.changesText(out)
	if len(st.Updates) > 0 {
		terminal.Line(out, "\nupdates of epoch %d, on prompts of each agent's own data", st.Epoch)
		printUpdates(out, st.Updates)
	}
	if len(st.Results) > 0 {
		terminal.Line(out, "")
		PrintResults(out, st.Results)
		terminal.Line(out, "critic: %s · trained system: epoch %d, %s · final digest %s", st.Critic, st.Best,
			runs.BestOnVal(st.Best, st.Curve), st.FinalDigest)
		st.talkText(out)
	}
	st.nextText(out)
}

// nextText prints what to do with a run that has finished.
func (st Report) nextText(out io.Writer) {
	if st.Status != stateFinished || st.next == nil {
		return
	}
	terminal.Line(out, "\nnext:")
	if st.View != "" {
		terminal.Line(out, "  see curves and every episode   %s", st.View)
	}
	if st.Epoch > 0 {
		terminal.Line(out, "  read one, answer by answer     %s", st.next("show %s %d/1", st.Name, st.Epoch))
	}
	terminal.Line(out, "  change a value and train on    %s", st.next("fork %s --epoch %d --name %s --set epochs=%d",
		st.Name, st.Epoch, st.Name+"-2", st.Epoch+1))
}

// tunedPlayers returns who plays on val in stage 1.
func tunedPlayers(specification spec.Spec) string {
	if specification.Views.Divided() && specification.Agents > 1 {
		return "all agents"
	}

	return "one agent"
}

// costText prints the cost of calls to chat endpoints: in all, and by role and model.
func (st Report) costText(out io.Writer) {
	if st.Spent == nil {
		return
	}
	more := ""
	if st.Forecast > 0 && st.Epoch < st.Epochs {
		more = fmt.Sprintf(", about %.2f after epoch %d", st.Forecast, st.Epochs)
	}
	terminal.Line(out, "chat endpoints: %s, %s, cost %.4f%s", terminal.Count(st.Spent.Calls, "recorded call"),
		tokensText(*st.Spent), st.Spent.Money, more)

	type user struct{ role, model string }
	users := map[user]runs.Spent{}
	for _, spending := range st.Spending {
		u := user{spending.Role, spending.Model}
		users[u] = users[u].Plus(spending.Spent)
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
		terminal.Line(out, "  %s, %s: %s, %s, %.4f", u.role, u.model, terminal.Count(users[u].Calls, "call"),
			tokensText(users[u]), users[u].Money)
	}
}

// leftOutText prints the failed slots by epoch.
func (st Report) leftOutText(out io.Writer) {
	if len(st.LeftOut) > 0 {
		terminal.Line(out, "\nleft out")
	}
	for _, slots := range st.LeftOut {
		line := fmt.Sprintf("  epoch %d: %s", slots.Epoch, terminal.Count(slots.Slots, "failed slot"))
		if slots.Accepted != "" {
			line += ", accepted by " + slots.Accepted
		}
		terminal.Line(out, "%s", line)
	}
}

// changesText prints what people did to the run.
func (st Report) changesText(out io.Writer) {
	if len(st.Changes) > 0 {
		terminal.Line(out, "\nchanges by people")
	}
	for i, change := range st.Changes {
		line := fmt.Sprintf("  %d. %s %s %s", i+1, change.At.Format(time.DateTime), change.Who, change.Verb)
		for _, key := range change.Values.Keys() {
			line += fmt.Sprintf(" %s=%s", key, change.Values[key])
		}
		for _, x := range change.Cells {
			line += fmt.Sprintf(" label %d/%d/%d/%d=%d", x.Slot, x.Step, x.Agent, x.Round, x.Label)
		}
		if change.Why != "" {
			line += ": " + change.Why
		}
		if change.Link != "" {
			line += " (" + change.Link + ")"
		}
		terminal.Line(out, "%s", line)
	}
}

// tokensText returns the tokens that calls used, and for how many of the calls they are estimated.
func tokensText(s runs.Spent) string {
	if s.Estimated == 0 {
		return terminal.Count(s.Tokens, "token")
	}

	return fmt.Sprintf("%s (estimated for %s, of which the server reports none)", terminal.Count(s.Tokens, "token"),
		terminal.Count(s.Estimated, "call"))
}
