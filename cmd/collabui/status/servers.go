package status

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
)

// surroundings are the workers, and the servers that they see. They are unknown without Redis.
type surroundings struct {
	Workers      int                  `json:"workers"`
	Environments []envadapters.Server `json:"environment_servers,omitempty"`
	Policies     []envadapters.Server `json:"policy_servers,omitempty"`
}

// readSurroundings reads the workers' reports on themselves and on the servers that the run's specification names.
func readSurroundings(ctx context.Context, endpoints config.Endpoints, specification spec.Spec) *surroundings {
	client, err := endpoints.OpenRedis()
	if err != nil {
		return nil
	}
	if client != nil {
		defer func() { _ = client.Close() }()
	}
	stream := events.Over(client)
	named := map[string]bool{}
	for name := range specification.Environments {
		for _, address := range specification.Where(name).Servers {
			named[address] = true
		}
	}
	for _, address := range specification.Where(specification.Environment).Servers {
		named[address] = true
	}
	var out surroundings
	for _, worker := range stream.Workers(ctx) {
		out.Workers++
		for _, server := range worker.Servers {
			if named[server.Address] {
				out.Environments = addServer(out.Environments, server)
			}
		}
		for _, server := range worker.Policies {
			out.Policies = addServer(out.Policies, server)
		}
	}
	if out.Workers == 0 {
		return nil
	}

	return &out
}

// addServer adds the state of a server to a list. If any worker reports a problem with the server, the problem counts.
func addServer(all []envadapters.Server, server envadapters.Server) []envadapters.Server {
	for i, a := range all {
		if a.Address == server.Address {
			if a.State == envadapters.Ready {
				all[i] = server
			}

			return all
		}
	}

	return append(all, server)
}

// text prints the number of workers, and the servers that do not respond.
func (s *surroundings) text(w io.Writer) {
	if s == nil {
		return
	}
	terminal.Line(w, "workers: %d; environment servers: %s; policy servers: %s", s.Workers, serversText(s.Environments),
		serversText(s.Policies))
	for _, server := range s.broken() {
		terminal.Line(w, "  %s: %s, %s", server.Address, server.State, server.Detail)
	}
}

// broken returns the servers that are neither ready nor busy.
func (s *surroundings) broken() (out []envadapters.Server) {
	if s == nil {
		return nil
	}
	for _, server := range append(slices.Clone(s.Environments), s.Policies...) {
		if server.State != envadapters.Ready && server.State != envadapters.Busy {
			out = append(out, server)
		}
	}

	return out
}

// serversText returns how many servers respond.
func serversText(all []envadapters.Server) string {
	if len(all) == 0 {
		return "none"
	}
	broken := (&surroundings{Environments: all}).broken()

	return fmt.Sprintf("%d of %d answer", len(all)-len(broken), len(all))
}
