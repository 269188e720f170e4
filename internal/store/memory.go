package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Memory is a Bucket in memory, for tests.
type Memory struct {
	mu      sync.Mutex
	objects map[string][]byte
}

// PutOnce writes an object unless the key is taken.
func (m *Memory) PutOnce(_ context.Context, key string, body []byte) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects == nil {
		m.objects = map[string][]byte{}
	}
	if _, ok := m.objects[key]; ok {
		return false, nil
	}
	m.objects[key] = slices.Clone(body)

	return true, nil
}

// Get reads an object.
func (m *Memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.objects[key]
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, ErrNotFound)
	}

	return slices.Clone(b), nil
}

// List returns keys and sizes under a prefix in lexical order.
func (m *Memory) List(_ context.Context, prefix string) ([]Ref, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Ref
	for k, b := range m.objects {
		if strings.HasPrefix(k, prefix) {
			out = append(out, Ref{Key: k, Size: int64(len(b))})
		}
	}
	slices.SortFunc(out, func(a, b Ref) int { return strings.Compare(a.Key, b.Key) })

	return out, nil
}

func (m *Memory) replace(_ context.Context, key string, body []byte) error {
	m.Damage(key, body)

	return nil
}

// Damage replaces an object's bytes, which no other Bucket can do; nil removes the object. Tests plant violations with
// it.
func (m *Memory) Damage(key string, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if body == nil {
		delete(m.objects, key)

		return
	}
	if m.objects == nil {
		m.objects = map[string][]byte{}
	}
	m.objects[key] = slices.Clone(body)
}
