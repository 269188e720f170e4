package events

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/redis/go-redis/v9"
)

// Stream writes and reads events. A nil or zero stream does nothing.
type Stream struct{ client redis.UniversalClient }

// maxEvents is the number of events that are kept per run, at least.
const maxEvents = 10000

// expiry is how long the events of a run are kept after its last one.
const expiry = 30 * 24 * time.Hour

// Over returns the stream in the Redis that client connects to. If client is nil, the stream does nothing.
func Over(client redis.UniversalClient) *Stream { return &Stream{client} }

func key(run string) string { return "collabui:progress:" + run }

// Emit adds an event. It drops the event if Redis does not answer within half a second.
func (s *Stream) Emit(run string, event Event) {
	if s == nil || s.client == nil {
		return
	}
	raw, err := Encode(event)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_, _ = s.client.Pipelined(ctx, func(pipeliner redis.Pipeliner) error {
		pipeliner.XAdd(ctx, &redis.XAddArgs{
			Stream: key(run), MaxLen: maxEvents, Approx: true, Values: map[string]any{"event": raw},
		})

		return pipeliner.Expire(ctx, key(run), expiry).Err()
	})
}

// Read returns the events after a position, and the new position. The position "0" is the beginning of the stream.
// Without Redis it returns no events.
func (s *Stream) Read(ctx context.Context, run, after string) (events []json.RawMessage, next string) {
	if s == nil || s.client == nil {
		return nil, after
	}
	res, err := s.client.XRange(ctx, key(run), "("+after, "+").Result()
	if err != nil {
		return nil, after
	}

	for _, xMessage := range res {
		after = xMessage.ID
		if e, ok := xMessage.Values["event"].(string); ok {
			events = append(events, json.RawMessage(e))
		}
	}

	return events, after
}

// Check writes and reads a stream of its own, and returns the error if that fails. It leaves nothing behind.
func (s *Stream) Check(ctx context.Context) error {
	if s == nil || s.client == nil {
		return nil
	}
	stream := key("/" + rand.Text())
	_, err := s.client.Pipelined(ctx, func(pipeliner redis.Pipeliner) error {
		pipeliner.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: map[string]any{"event": "check"}})
		pipeliner.XRange(ctx, stream, "-", "+")

		return pipeliner.Del(ctx, stream).Err()
	})

	return err
}
