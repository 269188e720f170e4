package results

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
)

func showCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN [EPOCH/SLOT|stage-1|critic]",
		Short: "Show a run: its status and results, an episode, stage 1, or how good its critic is",
		Long: `show prints the status and the results of a run.

With EPOCH/SLOT it prints an episode: for every step what was on the screen, the answers of all agents in all rounds
with the critic's labels, the vote, what was executed, and how many pairs came of it. An answer is marked + if the
critic called it right, - if wrong, ? if it was not sure; * is what was executed. If agents saw different parts of the
screen, a line for each agent has what it saw, and what it knows from peers only. If messages are labelled by effect,
lines below a message have the answers of its readers with it and without it. --json has everything that was said, and
the viewer shows it.

With stage-1 it prints the data cards of stage 1 (what was made, how much, by whom, and what was dropped and why) and
the base policy.

With critic it reads the graded episodes. It compares every label with the environment's judge, which is privileged: it
knows the solution. It compares the labels of executed actions with how the episodes ended. That calls no model.`,
		Example: "  collabui show quickstart --json\n" +
			"  collabui show quickstart 2/17\n  collabui show curriculum stage-1\n" +
			"  collabui show quickstart critic --json",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runShow(cmd.Context(), a, args[0], append(args, "")[1])
		},
	}
}

// runShow prints a run, or the named part of it.
func runShow(ctx context.Context, a *app.App, run, part string) error {
	bucket, endpoints, err := a.OpenObjects()
	if err != nil {
		return err
	}
	switch {
	case part == "":
	case part == status.Stage1:
		return status.ShowStage1(ctx, a, bucket, run)
	case part == "critic":
		return showCritic(ctx, a, bucket, run)
	default:
		return showEpisode(ctx, a, bucket, run, part)
	}

	return status.Show(ctx, a, bucket, endpoints, run)
}
