// Package compare compares runs that are in the store: what their specifications have different, and how their systems
// did on the same episodes.
package compare

import (
	"context"
	"slices"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/stats"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Subject is the system of a run that is compared: the best on val of a run that has ended, otherwise the newest.
type Subject struct {
	Run    string `json:"run"`
	Epoch  int    `json:"epoch"`
	System string `json:"system"` // its name in results
}

// Find returns the system of a run that is compared. The error wraps store.ErrNotFound if there is no such run.
func Find(ctx context.Context, b store.Bucket, name string) (Subject, error) {
	x := Subject{Run: name}
	run := runs.Run(name)
	s, err := run.Current(ctx, b)
	if err != nil {
		return x, err
	}
	x.Epoch, err = run.Chosen(ctx, b)
	x.System = rules.ValName(s, x.Epoch)

	return x, err
}

// Difference is how two systems did on the same episodes of a split.
type Difference struct {
	A        Subject `json:"a"`
	B        Subject `json:"b"`
	Split    string  `json:"split"`    // ENVIRONMENT.SPLIT out of distribution
	Episodes int     `json:"episodes"` // that both have played
	Missing  int     `json:"missing"`  // that one of them could not play, or both
	OnlyA    int     `json:"only_a"`   // episodes that only A's system did right
	OnlyB    int     `json:"only_b"`
	Mean     float64 `json:"mean"` // B − A in success rate, from −1 to 1
	Low      float64 `json:"low"`  // of the interval at 95 % by Student's t over episodes
	High     float64 `json:"high"`
}

// Paired returns the differences between two systems on all splits that both have played, by split. Episodes count if
// both played the same task. Splits with fewer than two such episodes are left out.
func Paired(ctx context.Context, b store.Bucket, x, y Subject) ([]Difference, error) {
	mine, err := splits(ctx, b, x)
	if err != nil {
		return nil, err
	}
	theirs, err := splits(ctx, b, y)
	if err != nil {
		return nil, err
	}

	var out []Difference
	for _, split := range mine {
		if !slices.Contains(theirs, split) {
			continue
		}
		d, err := paired(ctx, b, x, y, split)
		if err != nil {
			return nil, err
		}
		if d.Episodes >= 2 {
			out = append(out, d)
		}
	}

	return out, nil
}

// folder is where the evaluations of a system are, below those of its run.
func (x Subject) folder() string { return rules.EpochFolder(x.Epoch) + "/" + x.System + "/" }

// splits returns the splits on which a system was evaluated, in order.
func splits(ctx context.Context, b store.Bucket, x Subject) ([]string, error) {
	return b.Folders(ctx, runs.Run(x.Run).Prefix()+"evals/"+x.folder())
}

// paired compares two systems on one split.
func paired(ctx context.Context, b store.Bucket, x, y Subject, split string) (Difference, error) {
	d := Difference{A: x, B: y, Split: split}
	var each []float64
	for n := 1; ; n++ {
		a, one, err := runs.Run(x.Run).EvalEpisode(x.folder()+split, n).Sure(ctx, b)
		if err != nil {
			return d, err
		}
		c, both, err := runs.Run(y.Run).EvalEpisode(y.folder()+split, n).Sure(ctx, b)
		if err != nil {
			return d, err
		}
		if !one || !both {
			break
		}
		switch {
		case a.Task != c.Task:
		case a.Outcome.Void != "" || c.Outcome.Void != "":
			d.Missing++
		default:
			each = append(each, d.add(a.Outcome.Success, c.Outcome.Success))
		}
	}
	if d.Episodes = len(each); d.Episodes >= 2 {
		d.Mean, d.Low, d.High = stats.TInterval(each)
	}

	return d, nil
}

// add counts an episode and returns by how much B did better.
func (d *Difference) add(a, b bool) float64 {
	switch {
	case a && !b:
		d.OnlyA++

		return -1
	case b && !a:
		d.OnlyB++

		return 1
	}

	return 0
}
