// Package openenv plays environments over a network: it speaks the OpenEnv protocol (WebSocket), with the profile collabui/1 (docs/openenv-profile.md) or, by a mapping, with any
// other server of that protocol; and it serves suites to others by the same protocol.
package openenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/fault"
)

// Bounds of what a server may send, in bytes.
const (
	maxAnswer  = 64 << 20
	maxMessage = 500 // of a server's words in our errors
)

// CallLimit bounds one call to a server: an action on a slow device takes seconds, so a server that is silent for longer hangs.
const CallLimit = 60 * time.Second

// Error is a server's refusal.
type Error struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Retry   float64 `json:"retry_after_s"` // of BUSY
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// CodeOf is the code of the refusal in err's chain; empty: none.
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Codes of refusals (docs/openenv-profile.md).
const (
	CodeJSON        = "INVALID_JSON"
	CodeType        = "UNKNOWN_TYPE"
	CodeValidation  = "VALIDATION_ERROR"
	CodeUnknownTask = "UNKNOWN_TASK"
	CodeExecution   = "EXECUTION_ERROR"
	CodeCapacity    = "CAPACITY_REACHED"
	CodeSession     = "SESSION_ERROR"
	CodeTaskInit    = "TASK_INIT"
	CodeA11y        = "A11Y"
	CodeADB         = "ADB"
	CodeDirty       = "DIRTY"
	CodeBusy        = "BUSY"
	CodeStale       = "STALE_LEASE"
)

type frame struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Conn is one session with a server: one call at a time. After an error that is no refusal it is closed, because a late answer would be taken for the next call's.
type Conn struct {
	Limit  time.Duration // of one call; default CallLimit
	ws     *websocket.Conn
	frames chan frame
	done   chan struct{}
	gone   error // why reading ended; set before done is closed
	stop   context.CancelFunc
	once   sync.Once
}

// Dial opens a session. url is ws:// or wss://.
func Dial(ctx context.Context, url string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ws, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		if res != nil && res.StatusCode != http.StatusSwitchingProtocols {
			err = fmt.Errorf("the server answers %s: %w", res.Status, err)
		}
		return nil, fault.New(fault.Transient, "open a session at %s: %w", url, err)
	}
	ws.SetReadLimit(maxAnswer)
	alive, stop := context.WithCancel(context.Background())
	c := &Conn{Limit: CallLimit, ws: ws, frames: make(chan frame, 1), done: make(chan struct{}), stop: stop}
	go c.read(alive)
	return c, nil
}

// read runs as long as the session, so that pings are answered while an agent thinks.
func (c *Conn) read(ctx context.Context) {
	defer close(c.done)
	for {
		kind, raw, err := c.ws.Read(ctx)
		if err == nil && kind != websocket.MessageText {
			err = errors.New("a binary frame")
		}
		var f frame
		if err == nil {
			err = json.Unmarshal(raw, &f)
		}
		if err == nil {
			select {
			case c.frames <- f:
			default:
				err = errors.New("an answer that nobody asked for")
			}
		}
		if err != nil {
			c.gone = err
			return
		}
	}
}

// Call sends a frame and decodes the data of its answer into out. A refusal is an *Error in the chain; what ends the session is a void fault.
func (c *Conn) Call(ctx context.Context, kind string, data, out any) error {
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
	if f.Type == "error" {
		e := &Error{}
		if json.Unmarshal(f.Data, e) != nil || e.Code == "" {
			e.Code = CodeExecution
		}
		if len(e.Message) > maxMessage {
			e.Message = e.Message[:maxMessage] + "…"
		}
		return fault.New(fault.Void, "%s: %w", kind, e)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(f.Data, out); err != nil {
		c.end(false)
		return fault.New(fault.Void, "%s: the answer is not what it must be: %w", kind, err)
	}
	return nil
}

func (c *Conn) exchange(ctx context.Context, kind string, data any) (frame, error) {
	body, err := json.Marshal(data)
	if err != nil {
		return frame{}, err
	}
	raw, err := json.Marshal(frame{kind, body})
	if err != nil {
		return frame{}, err
	}
	if err := c.ws.Write(ctx, websocket.MessageText, raw); err != nil {
		return frame{}, err
	}
	select {
	case f := <-c.frames:
		return f, nil
	case <-ctx.Done():
		return frame{}, context.Cause(ctx)
	case <-c.done:
		select {
		case f := <-c.frames: // an answer with the end behind it, such as CAPACITY_REACHED
			return f, nil
		default:
			return frame{}, fmt.Errorf("the session ended: %w", c.gone)
		}
	}
}

// Close ends the session: the server tears down, closes the socket, and is waited for, up to a second, so that its place is free behind it. It may be repeated.
func (c *Conn) Close() { c.end(true) }

func (c *Conn) end(sound bool) {
	c.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
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
