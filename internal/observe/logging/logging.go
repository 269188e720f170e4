// Package logging makes the loggers of long-running commands: flags or the environment set their level and format, and
// the Temporal SDK logs through the same handler.
package logging

import (
	"io"
	"log/slog"
	"os"

	"go.temporal.io/sdk/log"

	"github.com/collabui/collabui/fault"
)

// Environment variables that set level and format of all commands of a host.
const (
	EnvLevel  = "COLLABUI_LOG_LEVEL"  // debug, info, warn or error; default: info
	EnvFormat = "COLLABUI_LOG_FORMAT" // text or json; default: text
)

// Format is the form of a log line.
type Format string

// The formats.
const (
	Text Format = "text" // key=value pairs, for people
	JSON Format = "json" // one object per line, for collectors
)

// Options configure a logger. Empty fields mean info and text.
type Options struct {
	Level  string
	Format string
}

// FromEnv returns the options of the environment.
func FromEnv() Options {
	return Options{Level: os.Getenv(EnvLevel), Format: os.Getenv(EnvFormat)}
}

// New returns a logger that writes to out. An unknown level or format is an invalid fault.
func New(out io.Writer, options Options) (*slog.Logger, error) {
	var level slog.Level
	if options.Level != "" {
		if err := level.UnmarshalText([]byte(options.Level)); err != nil {
			return nil, fault.New(fault.Invalid, "log level must be debug, info, warn or error, not %q", options.Level)
		}
	}
	handler := &slog.HandlerOptions{Level: level}

	switch Format(options.Format) {
	case "", Text:
		return slog.New(slog.NewTextHandler(out, handler)), nil
	case JSON:
		return slog.New(slog.NewJSONHandler(out, handler)), nil
	}

	return nil, fault.New(fault.Invalid, "log format must be %s or %s, not %q", Text, JSON, options.Format)
}

// Temporal adapts a logger to the interface of the Temporal SDK.
func Temporal(logger *slog.Logger) log.Logger { return log.NewStructuredLogger(logger) }

// Silent returns a logger for the Temporal clients of commands that print results: it discards everything.
func Silent() *slog.Logger { return slog.New(slog.DiscardHandler) }
