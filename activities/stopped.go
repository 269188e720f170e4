package activities

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/internal/records/runs"
)

// Stopped says who stopped a run that has not ended, and why, if nobody has resumed it since; otherwise it is empty.
// The run may go on all the same: whoever trains a stopped run again records nothing.
func (c *Control) Stopped(ctx context.Context, run string) (string, error) {
	return do(ctx, c.log(run), func(ctx context.Context, _ say) (string, error) {
		_, ended, err := runs.Run(run).End().Sure(ctx, c.Bucket)
		if err != nil || ended {
			return "", err
		}
		changes, err := runs.Run(run).Changes(ctx, c.Bucket, 0, 0)
		why := ""
		for _, x := range changes {
			switch x.Verb {
			case runs.VerbStop:
				why = fmt.Sprintf("%s stopped it: %s", x.Who, x.Why)
			case runs.VerbResume:
				why = ""
			}
		}

		return why, err
	})
}
