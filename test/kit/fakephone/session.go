package fakephone

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/envadapters/openenv"
)

func (p *Phone) session(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}

	p.mu.Lock()
	p.conns[ws] = true
	p.mu.Unlock()

	lease := 0 // It is guarded by mu.
	defer func() {
		_ = ws.CloseNow()
		p.end(&lease)
	}()

	frames := make(chan []byte, 8)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() { // A lost connection is noticed while a call runs.
		defer cancel()
		for {
			_, raw, err := ws.Read(ctx)
			if err != nil {
				p.end(&lease)
				return
			}
			frames <- raw
		}
	}()

	for {
		select {
		case raw := <-frames:
			answer, ok := p.answer(raw, &lease)
			if !ok || ws.Write(ctx, websocket.MessageText, answer) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// answer handles a frame. ok is false if the frame closes the session.
func (p *Phone) answer(raw []byte, lease *int) (answer []byte, ok bool) {
	var f struct {
		Type openenv.FrameType
		Data json.RawMessage
	}
	_ = json.Unmarshal(raw, &f)
	if f.Type == "close" {
		return nil, false
	}

	var data any
	var refusal *openenv.Error
	kind := "observation"
	switch f.Type {
	case openenv.FrameState:
		kind = "state"
		data, refusal = p.state(f.Data, lease)
	case openenv.FrameReset:
		data, refusal = p.reset(f.Data, lease)
	case openenv.FrameStep:
		data, refusal = p.step(f.Data, lease)
	default:
		refusal = refuse(openenv.CodeType, "")
	}
	if refusal != nil {
		kind = "error"
		data = refusal
	}

	answer, _ = json.Marshal(map[string]any{"type": kind, "data": data})

	return answer, true
}

// end ends a lease and tears its episode down. A call that is still running ends first, and changes nothing after that.
func (p *Phone) end(lease *int) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if *lease == 0 || *lease != p.generation {
		return
	}

	p.tearDown()
	p.leased = false
	p.generation++ // It fences off calls that are still running.
}

// tearDown ends the current episode. Callers hold mu.
func (p *Phone) tearDown() {
	if p.episode != nil {
		p.episode.Over = true
		p.episode = nil
	}
}

func refuse(code openenv.Code, message string) *openenv.Error {
	return &openenv.Error{Code: code, Message: message}
}
