package events

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/collabui/collabui/envadapters"
)

// Worker is the description that a worker publishes of itself.
type Worker struct {
	ID       string               `json:"id"` // PID@HOST
	Roles    []string             `json:"roles"`
	Version  string               `json:"version"`
	Since    time.Time            `json:"since"`
	At       time.Time            `json:"at"`
	Servers  []envadapters.Server `json:"environment_servers,omitempty"`
	Policies []envadapters.Server `json:"policy_servers,omitempty"`
}

// A worker reports its presence every PresenceEvery, and is forgotten PresenceKept after its last report.
const (
	PresenceEvery = 5 * time.Second
	PresenceKept  = 20 * time.Second
)

const presencePrefix = "collabui:worker:"

// Present reports the presence of a worker. If Redis does not answer within half a second, the report is dropped.
func (s *Stream) Present(worker Worker) {
	if s == nil || s.client == nil {
		return
	}
	raw, err := json.Marshal(worker)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_ = s.client.Set(ctx, presencePrefix+worker.ID, raw, PresenceKept).Err()
}

// Absent reports that a worker has ended.
func (s *Stream) Absent(id string) {
	if s == nil || s.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_ = s.client.Del(ctx, presencePrefix+id).Err()
}

// Workers returns the workers that are present, ordered by ID. Without Redis it returns none.
func (s *Stream) Workers(ctx context.Context) (out []Worker) {
	if s == nil || s.client == nil {
		return nil
	}
	for _, key := range s.present(ctx) {
		raw, err := s.client.Get(ctx, key).Bytes()
		var worker Worker
		if err == nil && json.Unmarshal(raw, &worker) == nil {
			out = append(out, worker)
		}
	}
	slices.SortFunc(out, func(a, b Worker) int { return cmp.Compare(a.ID, b.ID) })

	return out
}

// present returns the keys of the workers that are present. In a cluster, each master has some of them.
func (s *Stream) present(ctx context.Context) (keys []string) {
	var mu sync.Mutex
	look := func(ctx context.Context, client *redis.Client) error {
		found := client.Scan(ctx, 0, presencePrefix+"*", 100).Iterator()
		for found.Next(ctx) {
			mu.Lock()
			keys = append(keys, found.Val())
			mu.Unlock()
		}

		return found.Err()
	}
	switch c := s.client.(type) {
	case *redis.ClusterClient:
		_ = c.ForEachMaster(ctx, look) // a master that does not answer shows no workers
	case *redis.Client:
		_ = look(ctx, c)
	}

	return keys
}
