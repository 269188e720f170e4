package workers

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/test/kit/certificates"
)

// frontend is a Temporal server that knows one request and records the keys that come with it.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer
	keys []string
}

func (f *frontend) DescribeNamespace(
	ctx context.Context, _ *workflowservice.DescribeNamespaceRequest,
) (*workflowservice.DescribeNamespaceResponse, error) {
	in, _ := metadata.FromIncomingContext(ctx)
	f.keys = append(f.keys, in.Get("authorization")...)

	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func TestTemporalsKeyChangesWithoutARestart(t *testing.T) {
	dir := t.TempDir()
	pair, cert, _ := certificates.Issue(t, dir, "temporal", nil)
	f := &frontend{}
	s := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	workflowservice.RegisterWorkflowServiceServer(s, f)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)

	file := filepath.Join(dir, "key")
	t.Setenv(config.EnvTemporalKey+"_FILE", file)
	write := func(key string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	o, err := ClientOptions(config.Endpoints{
		Temporal: l.Addr().String(), Namespace: "team", TemporalKey: "one", TemporalTLS: config.TLS{CA: cert},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewLazyClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, key := range []string{"one", "two"} {
		write(key)
		ask := &workflowservice.DescribeNamespaceRequest{Namespace: "team"}
		if _, err := c.WorkflowService().DescribeNamespace(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"Bearer one", "Bearer two"}; !slices.Equal(f.keys, want) {
		t.Errorf("Temporal got the keys %q, want %q", f.keys, want)
	}
}
