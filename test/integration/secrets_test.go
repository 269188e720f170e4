//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// canaries are secrets that are planted in the environment of every process: a key and a header that a model uses, and
// an unused one.
var canaries = []string{
	"CANARY_API_KEY=canary-of-the-model-5c21", "CANARY_TEAM_API_KEY=canary-of-the-header-77ab",
	"UNUSED_API_KEY=canary-of-nobody-0e9d",
}

// keepsSecrets checks that the endpoint got the keys of its model, and that no secret is anywhere else: not in a
// history, a log, an object, an export or any other file except the file of the secrets.
func (m *machine) keepsSecrets(c *chat) {
	m.t.Helper()
	var secrets []string
	for _, x := range canaries {
		_, value, _ := strings.Cut(x, "=")
		secrets = append(secrets, value)
	}
	c.mu.Lock()
	if want := "Bearer " + secrets[0] + " " + secrets[1]; len(c.keys) != 1 || c.keys[want] == 0 {
		m.t.Errorf("the endpoint got %d kinds of keys, want its own alone", len(c.keys))
	}
	c.mu.Unlock()

	raw, err := os.ReadFile(filepath.Join(m.data, "secrets.json"))
	if err != nil {
		m.t.Fatal(err)
	}
	var own struct{ Access, Secret string }
	if err := json.Unmarshal(raw, &own); err != nil || len(own.Secret) < 16 {
		m.t.Fatalf("secrets.json: error %v, want the key of the store", err)
	}
	secrets = append(secrets, own.Secret)

	read := 0
	look := func(where string, raw []byte) {
		read++
		for _, s := range secrets {
			if bytes.Contains(raw, []byte(s)) {
				m.t.Errorf("%s contains the secret %.12s…, want it nowhere", where, s)
			}
		}
	}
	m.eachFile(look)
	files := read
	m.eachHistory(look)
	if files < 100 || read-files < 10 {
		m.t.Errorf("looked into %d files and %d histories, want at least 100 and 10", files, read-files)
	}
	m.t.Logf("no secret in %d files and %d histories", files, read-files)
}

// eachFile passes on every file of this machine except the file of its own secrets.
func (m *machine) eachFile(use func(name string, raw []byte)) {
	_ = filepath.WalkDir(filepath.Dir(m.data), func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Base(p) == "secrets.json" {
			return nil
		}
		if raw, err := os.ReadFile(p); err == nil {
			use(p, raw)
		}

		return nil
	})
}

// eachHistory passes on the history of every workflow of this machine as JSON, with the contents of payloads.
func (m *machine) eachHistory(use func(name string, raw []byte)) {
	m.t.Helper()
	quiet := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	c, err := client.Dial(client.Options{HostPort: m.service("temporal").Addr, Namespace: "collabui", Logger: quiet})
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.Close()
	for _, x := range m.executions(c) {
		h := m.history(c, x)
		raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(h)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, e := range h.Events {
			raw = append(raw, []byte(e.String())...) // payloads in clear
		}
		use(x.Execution.WorkflowId, slices.Clip(raw))
	}
}
