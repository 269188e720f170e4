package activities

import (
	"log/slog"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/observe/telemetry"
	"github.com/collabui/collabui/internal/store"
)

// Common is what every type of activities has. It has no exported method, because types of activities embed it, and
// every exported method of a registered type is an activity.
type Common struct {
	Bucket  store.Bucket
	Catalog spec.Catalog
	Emit    Emit
	Log     Log
	Metrics *telemetry.Metrics // if nil, nothing is counted
	Runs    *Runs              // shared by all activities of the process
}

// Emit sends an event of a run to its viewers. Events may be lost. If it is nil, none are sent.
type Emit func(run string, e events.Event)

// Send sends an event.
func (f Emit) Send(run string, event events.Event) {
	if f != nil {
		f(run, event)
	}
}

// Log is where activities log. The zero value discards everything.
type Log struct{ Logger *slog.Logger }

// For returns a logger with a run and further attributes, such as epoch, slot and agent.
func (l Log) For(run string, attributes ...any) *slog.Logger {
	logger := l.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}

	return logger.With("run", run).With(attributes...)
}

// ParallelReads is the number of objects that an activity reads concurrently.
const ParallelReads = 8
