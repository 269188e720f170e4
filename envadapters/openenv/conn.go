// Package openenv plays environments over a network. It speaks the OpenEnv protocol (WebSocket) with the profile
// collabui/1 (docs/openenv-profile.md) or, by a mapping, with any other server of that protocol. It also serves suites
// to others over the same protocol.
//
// It links no browser driver. It links no Temporal.
package openenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
)

// Bounds of messages from a server, in bytes.
const (
	maxAnswer  = 64 << 20
	maxMessage = 500 // a server's message in an error
)

// CallLimit bounds one call to a server. An action on a slow device takes seconds; a server that does not answer within
// CallLimit is considered hung.
const CallLimit = 60 * time.Second

// How long opening a session, closing one and describing a server may take. A server whose host does not answer is
// given up sooner, so that another one can be tried.
const (
	connectLimit = 3 * time.Second
	askLimit     = 5 * time.Second
	dialLimit    = 10 * time.Second
	closeLimit   = time.Second
)

// Client sends requests to servers of environments that specifications name, if this process may reach them. It follows
// no redirects, because a server must not choose the next request of a worker or who receives the key.
var Client = func() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	hosts.Hold(t, func() hosts.List { return hosts.Worker(os.Getenv(EnvHosts)) }, connectLimit)

	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}()

// redirected returns a fault of kind Invalid if the answer of a server is a redirect.
func redirected(url string, res *http.Response) error {
	if res == nil || res.StatusCode/100 != 3 {
		return nil
	}

	return fault.New(fault.Invalid, "%s answers %s: redirects are not followed; write the address that it names", url,
		res.Status)
}

// Conn is one session with a server, for one call at a time. It is closed after an error that is not a refusal, because
// a late answer would be taken for the answer of the next call.
type Conn struct {
	Limit  time.Duration // the limit of one call; CallLimit by default
	ws     *websocket.Conn
	frames chan frame
	done   chan struct{}
	gone   error // why reading ended; set before done is closed
	stop   context.CancelFunc
	once   sync.Once
}

// Dial opens a session. The scheme of url is ws or wss.
func Dial(ctx context.Context, url string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()

	dialOptions := &websocket.DialOptions{
		HTTPClient: Client, HTTPHeader: http.Header{}, CompressionMode: websocket.CompressionDisabled,
	}
	if err := Authorize(dialOptions.HTTPHeader, url); err != nil {
		return nil, err
	}
	ws, res, err := websocket.Dial(ctx, url, dialOptions)
	if err != nil {
		if err := redirected(url, res); err != nil {
			return nil, err
		}
		if no := hosts.Refused(err); no != nil {
			return nil, fault.New(fault.Invalid, "servers: %s: %w", url, no)
		}
		if res != nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) {
			return nil, fault.New(fault.Invalid, "%s answers %s: set %s for this worker, and list the server in %s",
				url, res.Status, EnvKey, EnvHosts)
		}
		if res != nil && res.StatusCode != http.StatusSwitchingProtocols {
			err = fmt.Errorf("the server answers %s: %w", res.Status, err)
		}
		var network *net.OpError
		if errors.As(err, &network) {
			err = network // without how the request was built
		}

		return nil, fault.New(fault.Transient, "open a session at %s: %w", url, err)
	}

	ws.SetReadLimit(maxAnswer)
	alive, stop := context.WithCancel(context.Background())
	conn := &Conn{Limit: CallLimit, ws: ws, frames: make(chan frame, 1), done: make(chan struct{}), stop: stop}
	go conn.read(alive)

	return conn, nil
}

// read runs as long as the session, so that pings are answered while an agent thinks.
func (c *Conn) read(ctx context.Context) {
	defer close(c.done)
	for c.gone == nil {
		c.gone = c.readOne(ctx)
	}
}

func (c *Conn) readOne(ctx context.Context) error {
	kind, raw, err := c.ws.Read(ctx)
	if err != nil {
		return err
	}
	if kind != websocket.MessageText {
		return errors.New("a binary frame")
	}

	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}

	select {
	case c.frames <- f:
		return nil
	default:
		return errors.New("an answer to no call")
	}
}

// Call sends a frame and, if out is not nil, decodes the data of its answer into it. A refusal is an *Error in the
// chain. Every error is a fault of kind Void.
func (c *Conn) Call(ctx context.Context, kind FrameType, data, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, fmt.Errorf("no answer within %v", c.Limit))
	defer cancel()

	f, err := c.exchange(ctx, kind, data)
	if err != nil {
		c.end(false)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fault.New(fault.Void, "%s: %w", kind, err)
	}

	if f.Type == frameError {
		return fault.New(fault.Void, "%s: %w", kind, refusalOf(f.Data))
	}

	if out == nil {
		return nil
	}
	if err := json.Unmarshal(f.Data, out); err != nil {
		c.end(false)
		return fault.New(fault.Void, "%s: the answer is malformed: %w", kind, err)
	}

	return nil
}

// refusalOf reads the data of an error frame. A refusal without a code is an execution error.
func refusalOf(raw json.RawMessage) *Error {
	e := &Error{}
	if json.Unmarshal(raw, e) != nil || e.Code == "" {
		e.Code = CodeExecution
	}
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") + "…"
	}

	return e
}

func (c *Conn) exchange(ctx context.Context, kind FrameType, data any) (frame, error) {
	raw, err := encode(kind, data)
	if err != nil {
		return frame{}, err
	}
	select {
	case f := <-c.frames: // unrequested, so it would be taken for the answer
		if f.Type == frameError {
			return f, nil
		}

		return frame{}, errors.New("an answer to no call")
	default:
	}
	if err := c.ws.Write(ctx, websocket.MessageText, raw); err != nil {
		return c.lastFrame(err)
	}

	select {
	case f := <-c.frames:
		return f, nil
	case <-ctx.Done():
		return frame{}, context.Cause(ctx)
	case <-c.done:
		return c.lastFrame(fmt.Errorf("the session ended: %w", c.gone))
	}
}

// lastFrame returns the frame that the server sent before it ended the session, such as CAPACITY_REACHED, or err if it
// sent none. Servers of openenv send that one unrequested, as soon as the session is open.
func (c *Conn) lastFrame(err error) (frame, error) {
	select {
	case f := <-c.frames:
		return f, nil
	default:
		return frame{}, err
	}
}

// Close ends the session. It waits up to a second for the server to tear down and close the socket, so that the place
// is free afterwards. It may be repeated.
func (c *Conn) Close() { c.end(true) }

func (c *Conn) end(sound bool) {
	c.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()

		if sound && c.ws.Write(ctx, websocket.MessageText, []byte(`{"type":"close"}`)) == nil {
			select {
			case <-c.done:
			case <-ctx.Done():
			}
		}

		c.stop()
		_ = c.ws.CloseNow()
	})
}
