// Package notices keeps the log of what people are notified of, and how far each receiver has been told. A notice is
// written once; receivers are told in the order of the log, each at least once.
package notices

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Kind says what happened.
type Kind string

// The kinds.
const (
	Promoted Kind = "promoted"
	Rejected Kind = "rejected"
	Approval Kind = "approval" // a re-trained system waits for a person
	Paused   Kind = "paused"   // a run waits, for a person or for infrastructure
	Stopped  Kind = "stopped"
	Failed   Kind = "failed" // a firing ended for a reason that only a person can remove
	Ended    Kind = "ended"
	Budget   Kind = "budget" // a run has spent 80 % of a budget
	Missed   Kind = "missed" // firings of a schedule were later than it allows
	Test     Kind = "test"
)

// Kinds are all kinds.
var Kinds = []Kind{Promoted, Rejected, Approval, Paused, Stopped, Failed, Ended, Budget, Missed, Test}

// Notice is something that people should know.
type Notice struct {
	Number int       `json:"number"` // in the log, from 1
	ID     string    `json:"id"`     // names what happened: if it is told twice, both have the same
	Kind   Kind      `json:"kind"`
	At     time.Time `json:"at"`

	Run      string `json:"run,omitempty"`
	Line     string `json:"line,omitempty"`
	Schedule string `json:"schedule,omitempty"`
	Text     string `json:"text"` // at most MaxText bytes
}

// MaxText bounds the text of a notice, in bytes: errors may quote models and pages.
const MaxText = 2000

// Delivery is what became of a notice at a receiver.
type Delivery struct {
	At      time.Time `json:"at"`
	Skipped bool      `json:"skipped,omitempty"` // the receiver does not ask for it
}

// Beginning is where a receiver begins.
type Beginning struct {
	After int `json:"after"` // the last notice that was there before the receiver
}

const prefix = "notices/"

func notice(n int) runs.Object[Notice] {
	return runs.Object[Notice]{Key: fmt.Sprintf("%slog/%08d.json", prefix, n)}
}

// log is the log of all notices.
var log runs.Log[Notice] = notice

// Receiver is a receiver by its name.
type Receiver string

func (r Receiver) beginning() runs.Object[Beginning] {
	return runs.Object[Beginning]{Key: fmt.Sprintf("%sreceivers/%s.json", prefix, r)}
}

func (r Receiver) delivery(n int) runs.Object[Delivery] {
	return runs.Object[Delivery]{Key: fmt.Sprintf("%sdelivered/%s/%08d.json", prefix, r, n)}
}

// same is how far back Append looks for the same notice.
const same = 100

// Append writes a notice after those that exist, unless it is one of the newest already.
func Append(ctx context.Context, b store.Bucket, x Notice) (Notice, error) {
	if len(x.Text) > MaxText {
		x.Text = strings.ToValidUTF8(x.Text[:MaxText], "") + "…"
	}
	end, err := log.End(ctx, b, 0)
	if err != nil {
		return x, err
	}
	for n := end; n > max(0, end-same); n-- {
		old, _, err := notice(n).Must(ctx, b)
		if err != nil || old.ID == x.ID {
			return old, err
		}
	}
	for n := end + 1; ; n++ {
		x.Number = n
		got, _, err := notice(n).Record(ctx, b, func() (Notice, error) { return x, nil })
		if err != nil || got.ID == x.ID {
			return got, err
		}
	}
}

// Register begins the deliveries to a receiver after the notices that exist, unless it is known. It may be repeated.
func (r Receiver) Register(ctx context.Context, b store.Bucket) error {
	_, _, err := r.beginning().Record(ctx, b, func() (Beginning, error) {
		n, err := log.End(ctx, b, 0)

		return Beginning{After: n}, err
	})

	return err
}

// Receivers returns the receivers that are known.
func Receivers(ctx context.Context, b store.Bucket) ([]Receiver, error) {
	const folder = prefix + "receivers/"
	objects, err := b.List(ctx, folder)
	var out []Receiver
	for _, o := range objects {
		out = append(out, Receiver(strings.TrimSuffix(strings.TrimPrefix(o.Key, folder), ".json")))
	}

	return out, err
}

// Told returns the number of the last notice that a receiver was told, or does not ask for.
func (r Receiver) Told(ctx context.Context, b store.Bucket) (int, error) {
	begins, _, err := r.beginning().Must(ctx, b)
	if err != nil {
		return 0, fmt.Errorf("receiver %q: %w", string(r), err)
	}

	return runs.Log[Delivery](r.delivery).End(ctx, b, begins.After)
}

// Next returns the first notice after a number. It is false if there is none yet.
func Next(ctx context.Context, b store.Bucket, after int) (Notice, bool, error) {
	return log.Next(ctx, b, after)
}

// Newest returns the newest notices, at most n of them, oldest first.
func Newest(ctx context.Context, b store.Bucket, n int) ([]Notice, error) {
	end, err := log.End(ctx, b, 0)
	if err != nil {
		return nil, err
	}
	var out []Notice
	for i := max(1, end-n+1); i <= end; i++ {
		x, _, err := notice(i).Must(ctx, b)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}

	return out, nil
}

// Delivered records that a receiver was told a notice.
func (r Receiver) Delivered(ctx context.Context, b store.Bucket, n int, d Delivery) error {
	_, _, err := r.delivery(n).Record(ctx, b, func() (Delivery, error) { return d, nil })
	if err != nil {
		return fault.New(fault.Transient, "record that %s was told notice %d: %w", r, n, err)
	}

	return nil
}
