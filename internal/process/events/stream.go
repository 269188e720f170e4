package events

import (
	"context"
	"encoding/json"
	"time"

	"github.com/redis/go-redis/v9"
)

// Stream writes and reads events. The zero value of URL gives a stream that does nothing.
type Stream struct{ client *redis.Client }

// maxEvents are kept per run.
const maxEvents = 10000

// Open connects lazily; an impossible URL is an error.
func Open(url string) (*Stream, error) {
	if url == "" {
		return &Stream{}, nil
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	// A dead Redis must cost nothing: short time-outs, no retries.
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.MaxRetries = 200*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond, -1
	return &Stream{redis.NewClient(o)}, nil
}

func key(run string) string { return "collabui:progress:" + run }

// Emit adds an event; it never blocks for long and never fails.
func (s *Stream) Emit(run string, e Event) {
	if s == nil || s.client == nil {
		return
	}
	raw, err := Encode(e)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_ = s.client.XAdd(ctx, &redis.XAddArgs{Stream: key(run), MaxLen: maxEvents, Approx: true, Values: map[string]any{"event": raw}}).Err()
}

// Read gives the events behind a position ("0" is the beginning) and the new position. Without Redis there are none.
func (s *Stream) Read(ctx context.Context, run, after string) (events []json.RawMessage, next string) {
	if s == nil || s.client == nil {
		return nil, after
	}
	res, err := s.client.XRange(ctx, key(run), "("+after, "+").Result()
	if err != nil {
		return nil, after
	}
	for _, m := range res {
		after = m.ID
		if e, ok := m.Values["event"].(string); ok {
			events = append(events, json.RawMessage(e))
		}
	}
	return events, after
}

// Check makes one request.
func (s *Stream) Check(ctx context.Context) error {
	if s == nil || s.client == nil {
		return nil
	}
	return s.client.Ping(ctx).Err()
}
