//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// chat is an endpoint whose answers are a function of the requests, which it counts.
type chat struct {
	mu    sync.Mutex
	asked map[string]int // by request
	keys  map[string]int // by the values of the headers with keys
}

var (
	elementLine = regexp.MustCompile(`(?m)^\| (\d+) [a-z]+ ([^\n]*)$`)
	cellLine    = regexp.MustCompile(`(?m)^(\d+\.\d+)\n\| [^\n]*Action: (\{[^\n]*\})$`)
)

func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var q struct {
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(raw, &q); err != nil || len(q.Messages) < 2 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	text := answer(q.Messages[0].Content, q.Messages[1].Content)
	c.mu.Lock()
	if !trial(string(raw)) { // a trial is not recorded
		c.asked[string(raw)]++
	}
	c.keys[r.Header.Get("Authorization")+" "+r.Header.Get("X-Team")]++
	c.mu.Unlock()
	time.Sleep(20 * time.Millisecond) // so that a kill finds calls in flight

	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": text}}},
		"usage":   map[string]int{"prompt_tokens": len(raw) / 4, "completion_tokens": len(text) / 4},
	})
}

// trial reports whether a request belongs to the check before a start.
func trial(request string) bool { return strings.Contains(request, "This screen is a trial") }

// answer plays the role that the system prompt assigns.
func answer(system, user string) string {
	switch {
	case strings.Contains(system, "making mistakes"):
		return list("answers", taps(user, `{"reason":"r","action":{"action_type":"click","index":INDEX}}`))
	case strings.Contains(system, "keep the history"):
		return "something was done"
	case strings.Contains(system, "strict critic"):
		return list("grades", grades(user))
	case strings.Contains(system, "write questions"):
		return list("items", taps(user,
			`{"kind":"function","question":"Which element is number NUMBER","answer":"","element":INDEX}`))
	case strings.Contains(system, "one-step instructions"):
		return list("items", taps(user,
			`{"instruction":"Tap element NUMBER","reason":"r","action":{"action_type":"click","index":INDEX}}`))
	default:
		return list("items", taps(user, `{"reason":"r","action":{"action_type":"click","index":INDEX}}`))
	}
}

// taps fills a template with the number and the index of each of the first elements on the screen.
func taps(user, template string) []string {
	_, screen, _ := strings.Cut(user, "Screen") // a question before a run has none
	screen, _, _ = strings.Cut(screen, "\nProposals:")
	var out []string
	for i, m := range elementLine.FindAllStringSubmatch(screen, 4) {
		out = append(out, strings.NewReplacer("NUMBER", strconv.Itoa(i), "INDEX", m[1]).Replace(template))
	}

	return out
}

// grades scores each cell by a hash of its action.
func grades(user string) []string {
	var out []string
	for _, m := range cellLine.FindAllStringSubmatch(user, -1) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(m[2]))
		out = append(out, fmt.Sprintf(`{"cell":%q,"reason":"r","score":%d}`, m[1], h.Sum32()>>7&1))
	}

	return out
}

func list(name string, items []string) string {
	return `{"` + name + `":[` + strings.Join(items, ",") + `]}`
}
