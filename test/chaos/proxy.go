package chaos

import (
	"io"
	"net"
	"sync"
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &tcpProxy{listener: l, to: to, open: map[net.Conn]bool{}}
	go p.serve()

	return p, nil
}

func (p *tcpProxy) addr() string { return p.listener.Addr().String() }

func (p *tcpProxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.forward(c)
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

func (h held) Write(b []byte) (int, error) {
	h.proxy.mu.Lock()
	wait := time.Until(h.proxy.hold)
	h.proxy.mu.Unlock()
	time.Sleep(wait)

	return h.to.Write(b)
}

// cut closes all connections.
func (p *tcpProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

// refuseFor cuts all connections and refuses new ones for a while.
func (p *tcpProxy) refuseFor(d time.Duration) {
	p.mu.Lock()
	p.refuse = time.Now().Add(d)
	p.mu.Unlock()
	p.cut()
}

// holdFor forwards nothing for a while.
func (p *tcpProxy) holdFor(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = time.Now().Add(d)
}

func (p *tcpProxy) close() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.cut()
}
