package fakepolicy

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
)

// Graduate answers for some policies as if they had learned the scripted environment, and lets Model answer for others.
type Graduate struct {
	chat.Model
	Learned func(policy string) bool
}

var (
	goal   = regexp.MustCompile(`(?m)^Goal: Tap (.*)$`)
	count  = regexp.MustCompile(`(?m)^\d+ text count (\d+)`)
	button = regexp.MustCompile(`(?m)^(\d+) button (\S+)$`)
)

// Complete taps the next button of the goal.
func (g Graduate) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	counts := count.FindStringSubmatch(request.User)
	goals := goal.FindStringSubmatch(request.User)
	if counts == nil || goals == nil || !g.Learned(request.Model) {
		return g.Model.Complete(ctx, request)
	}
	n, _ := strconv.Atoi(counts[1])
	names := strings.Split(goals[1], " then ")
	_, screen, _ := strings.Cut(request.User, "Screen:")
	for _, b := range button.FindAllStringSubmatch(screen, -1) {
		if n >= len(names) || b[2] != names[n] {
			continue
		}
		i, _ := strconv.Atoi(b[1])
		text, err := Render(domain.Action{Type: domain.ActionClick}.At(i))
		out := chat.Response{Usage: domain.Usage{Prompt: 1, Answer: 1}}
		for range max(request.N, 1) {
			out.Texts = append(out.Texts, text)
			out.LogProbs = append(out.LogProbs, -0.1)
		}

		return out, err
	}

	return g.Model.Complete(ctx, request)
}
