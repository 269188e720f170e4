package chaos

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// tcpProxy forwards connections to a service, unless a fault makes it refuse, cut or hold them.
type tcpProxy struct {
	listener net.Listener
	to       string

	mu      sync.Mutex
	open    map[net.Conn]bool
	refuse  time.Time // until then connections are closed immediately
	hold    time.Time // until then nothing is forwarded
	stopped bool
}

func newTCPProxy(to string) (*tcpProxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	proxy := &tcpProxy{listener: listener, to: to, open: map[net.Conn]bool{}}
	go proxy.serve()

	return proxy, nil
}

func (p *tcpProxy) addr() string { return p.listener.Addr().String() }

func (p *tcpProxy) serve() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.forward(conn)
	}
}

func (p *tcpProxy) forward(in net.Conn) {
	defer func() { _ = in.Close() }()
	p.mu.Lock()
	refused := p.stopped || time.Now().Before(p.refuse)
	p.mu.Unlock()
	if refused {
		return
	}
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	p.mu.Lock()
	p.open[in], p.open[out] = true, true
	p.mu.Unlock()

	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			_, _ = io.Copy(held{pair[1], p}, pair[0])
			_ = pair[0].Close()
			_ = pair[1].Close()
		})
	}
	both.Wait()
	p.mu.Lock()
	delete(p.open, in)
	delete(p.open, out)
	p.mu.Unlock()
}

// held is a connection that waits while its proxy holds everything.
type held struct {
	to    io.Writer
	proxy *tcpProxy
}

func (h held) Write(data []byte) (int, error) {
	h.proxy.mu.Lock()
	wait := time.Until(h.proxy.hold)
	h.proxy.mu.Unlock()
	time.Sleep(wait)

	return h.to.Write(data)
}

// cut closes all connections.
func (p *tcpProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		_ = conn.Close()
	}
}

// refuseFor cuts all connections and refuses new ones for a while.
func (p *tcpProxy) refuseFor(duration time.Duration) {
	p.mu.Lock()
	p.refuse = time.Now().Add(duration)
	p.mu.Unlock()
	p.cut()
}

// holdFor forwards nothing for a while.
func (p *tcpProxy) holdFor(duration time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = time.Now().Add(duration)
}

func (p *tcpProxy) close() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.cut()
}

// s3Proxy forwards requests to S3, and answers some of them itself.
type s3Proxy struct {
	server   *http.Server
	listener net.Listener
	behind   *httputil.ReverseProxy

	requests atomic.Int64
	mu       sync.Mutex
	faults   []s3Fault // of the next requests that they can strike, in order
}

// s3Fault is a fault of a request.
type s3Fault string

// Faults of S3.
const (
	s3Error503  s3Fault = "503"
	s3Error500  s3Fault = "500"
	s3Gone      s3Fault = "a proxy answers 404"
	s3Conflict  s3Fault = "409"
	s3Truncated s3Fault = "half a body"
	s3Lost      s3Fault = "the answer is lost"
	s3Twice     s3Fault = "the request arrives twice"
	s3Slow      s3Fault = "the answer takes two seconds"
	s3Stale     s3Fault = "an object that exists is said not to exist"
	s3Thin      s3Fault = "a list leaves out a key"
	s3Cut       s3Fault = "a list ends in the middle"
)

var s3Faults = []s3Fault{
	s3Error503, s3Error500, s3Gone, s3Conflict, s3Truncated, s3Lost, s3Twice, s3Slow, s3Stale, s3Thin, s3Cut,
}

func newS3Proxy(to string) (*s3Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	target := &url.URL{Scheme: "http", Host: to}
	proxy := &s3Proxy{listener: listener, behind: &httputil.ReverseProxy{
		Rewrite: func(proxyRequest *httputil.ProxyRequest) {
			proxyRequest.SetURL(target)
			proxyRequest.Out.Host = proxyRequest.In.Host // it is part of the signature
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}}
	proxy.server = &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	go func() { _ = proxy.server.Serve(listener) }()

	return proxy, nil
}

func (p *s3Proxy) addr() string { return p.listener.Addr().String() }

func (p *s3Proxy) close() { _ = p.server.Close() }

// strike makes the next requests fail.
func (p *s3Proxy) strike(fault s3Fault, requests int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range requests {
		p.faults = append(p.faults, fault)
	}
}

// next returns the fault of a request.
func (p *s3Proxy) next(r *http.Request) s3Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, fault := range p.faults {
		if fault.strikes(r) {
			p.faults = slices.Delete(p.faults, i, i+1)

			return fault
		}
	}

	return ""
}

func (p *s3Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	switch fault := p.next(r); fault {
	case s3Error503:
		w.WriteHeader(http.StatusServiceUnavailable)
	case s3Error500:
		w.WriteHeader(http.StatusInternalServerError)
	case s3Gone:
		http.Error(w, "<html>no such page</html>", http.StatusNotFound)
	case s3Conflict:
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, "<Error><Code>ConditionalRequestConflict</Code></Error>")
	case s3Truncated:
		p.behind.ServeHTTP(&halfBody{ResponseWriter: w}, r)
		panic(http.ErrAbortHandler)
	case s3Lost:
		p.behind.ServeHTTP(&discard{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case s3Twice:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		first := r.Clone(context.WithoutCancel(r.Context()))
		first.Body, r.Body = bodyOf(body), bodyOf(body)
		p.behind.ServeHTTP(&discard{header: http.Header{}}, first)
		p.behind.ServeHTTP(w, r)
	case s3Slow:
		time.Sleep(2 * time.Second)
		p.behind.ServeHTTP(w, r)
	case s3Stale, s3Thin, s3Cut:
		p.falsify(w, r, fault)
	default:
		p.behind.ServeHTTP(w, r)
	}
}
