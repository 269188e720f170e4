package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Bucket in memory, for tests.
type Memory struct {
	mu      sync.Mutex
	objects map[string][]byte
	written map[string]time.Time
}

// PutOnce writes an object unless the key is taken.
func (m *Memory) PutOnce(_ context.Context, key string, body []byte) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.objects[key]; ok {
		return false, nil
	}
	m.put(key, slices.Clone(body))

	return true, nil
}

// Get reads an object.
func (m *Memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.objects[key]
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, ErrNotFound)
	}

	return slices.Clone(data), nil
}

// List returns keys and sizes under a prefix in lexical order.
func (m *Memory) List(_ context.Context, prefix string) ([]Ref, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Ref
	for key, data := range m.objects {
		if strings.HasPrefix(key, prefix) {
			out = append(out, Ref{Key: key, Size: int64(len(data))})
		}
	}
	slices.SortFunc(out, func(a, b Ref) int { return strings.Compare(a.Key, b.Key) })

	return out, nil
}

// Folders returns the names of the folders directly under a prefix, in lexical order.
func (m *Memory) Folders(_ context.Context, prefix string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]bool{}
	for key := range m.objects {
		below, ok := strings.CutPrefix(key, prefix)
		if name, _, folder := strings.Cut(below, "/"); ok && folder {
			found[name] = true
		}
	}

	return slices.Sorted(maps.Keys(found)), nil
}

func (m *Memory) replace(_ context.Context, key string, body []byte) error {
	m.Damage(key, body)

	return nil
}

// Damage replaces an object's bytes, which no other Bucket can do; nil removes the object. Tests use it to plant
// violations.
func (m *Memory) Damage(key string, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if body == nil {
		delete(m.objects, key)

		return
	}
	m.put(key, slices.Clone(body))
}

// put sets an object. The caller holds the lock.
func (m *Memory) put(key string, body []byte) {
	if m.objects == nil {
		m.objects = map[string][]byte{}
		m.written = map[string]time.Time{}
	}
	m.objects[key], m.written[key] = body, time.Now()
}

// Ages returns keys and sizes under a prefix, and the time at which each object was written.
func (m *Memory) Ages(ctx context.Context, prefix string) ([]Aged, error) {
	refs, err := m.List(ctx, prefix)
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Aged, len(refs))
	for i, ref := range refs {
		out[i] = Aged{ref, m.written[ref.Key]}
	}

	return out, err
}

// Written returns when an object was written.
func (m *Memory) Written(_ context.Context, key string) (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.objects[key]; !ok {
		return time.Time{}, fmt.Errorf("%s: %w", key, ErrNotFound)
	}

	return m.written[key], nil
}

// Copy writes the bytes of an object under another key.
func (m *Memory) Copy(_ context.Context, from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, ok := m.objects[from]
	if !ok {
		return fmt.Errorf("%s: %w", from, ErrNotFound)
	}
	m.put(to, body)

	return nil
}

// Delete removes an object if it exists.
func (m *Memory) Delete(_ context.Context, key string) error {
	m.Damage(key, nil)

	return nil
}
