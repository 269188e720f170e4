package httpd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
)

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsDigest reports whether a model's name has the form of a policy's digest: the 64 hex digits of a SHA-256.
func IsDigest(name string) bool { return digest.MatchString(name) }

// ReadAdapter returns the adapter that a request names in lora_name, as vLLM's paths for adapters expect.
func ReadAdapter(body io.Reader) (string, error) {
	var q struct {
		Name string `json:"lora_name"`
	}
	err := json.NewDecoder(body).Decode(&q)

	return q.Name, err
}

// WriteAdded answers as vLLM does when an adapter is loaded.
func WriteAdded(w http.ResponseWriter, name string) {
	_, _ = fmt.Fprintf(w, "Success: LoRA adapter '%s' added successfully.", name)
}

// WriteRemoved answers as vLLM does when an adapter is unloaded.
func WriteRemoved(w http.ResponseWriter, name string) {
	_, _ = fmt.Fprintf(w, "Success: LoRA adapter '%s' removed successfully.", name)
}
