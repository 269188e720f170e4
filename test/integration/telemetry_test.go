//go:build integration

package integration

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/envadapters/scripted"
)

// spans are the spans that a collector of traces has received.
type spans struct {
	collector.UnimplementedTraceServiceServer
	mu  sync.Mutex
	all []*trace.Span
}

func (s *spans) Export(
	_ context.Context, r *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range r.ResourceSpans {
		for _, y := range x.ScopeSpans {
			s.all = append(s.all, y.Spans...)
		}
	}

	return &collector.ExportTraceServiceResponse{}, nil
}

// above returns the names of a span's parents, the nearest first, for every span with a name.
func (s *spans) above(name string) (out [][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	byID := map[string]*trace.Span{}
	for _, x := range s.all {
		byID[string(x.SpanId)] = x
	}
	for _, x := range s.all {
		if x.Name != name {
			continue
		}
		var names []string
		for p := byID[string(x.ParentSpanId)]; p != nil; p = byID[string(p.ParentSpanId)] {
			names = append(names, p.Name)
		}
		out = append(out, names)
	}

	return out
}

// TestARunIsTraced follows a call of a model through activity and workflows back to the command.
func TestARunIsTraced(t *testing.T) {
	t.Parallel()
	h, err := openenv.Handler(&scripted.Suite{Length: 2})
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(h)
	t.Cleanup(pages.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got, server := &spans{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, got)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)

	m := newMachine(t, fmt.Sprintf(heldRun, strings.TrimPrefix(pages.URL, "http://"), demonstrated))
	m.env = append(m.env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+l.Addr().String(), "OTEL_BSP_SCHEDULE_DELAY=500")
	m.must("train", m.spec, "--detach")
	m.settle()

	calls := got.above("model call")
	whole := func(names []string) bool {
		return slices.Contains(names, "RunActivity:Rollout") && slices.Contains(names, "RunWorkflow:Shard") &&
			slices.Contains(names, "RunWorkflow:Rollouts") && slices.Contains(names, "StartWorkflow:Run")
	}
	if !slices.ContainsFunc(calls, whole) {
		t.Errorf("calls of models have the parents %v, want one with the activity Rollout, the workflows Shard and "+
			"Rollouts, and the command's StartWorkflow:Run", calls[:min(3, len(calls))])
	}
}
