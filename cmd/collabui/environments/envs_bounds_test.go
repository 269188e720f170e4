package environments

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestClientsHoldNoMoreThanTheirBounds lets a client without a key keep its connection, and others come after it.
func TestClientsHoldNoMoreThanTheirBounds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	h := requireKey(http.NotFoundHandler(), func() string { return "key" })
	go func() { served <- bounds{connections: 2, idle: 200 * time.Millisecond}.serve(ctx, l, h) }()
	defer func() {
		end()
		if err := <-served; err != nil {
			t.Errorf("serve = %v, want nil", err)
		}
	}()

	var open []net.Conn
	for range 4 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\n\r\n", l.Addr())
		open = append(open, c)
	}
	for i, c := range open { // the last two are answered when the first two are closed
		in := bufio.NewReader(c)
		res, err := http.ReadResponse(in, nil)
		if err != nil || res.StatusCode != http.StatusUnauthorized {
			t.Fatalf("client %d: %v, want status 401", i, err)
		}
		if _, err := io.Copy(io.Discard, in); err != nil {
			t.Errorf("client %d: %v, want its connection closed by the server", i, err)
		}
	}
}
