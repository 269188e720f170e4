package openenv

import (
	"encoding/json"
	"errors"
)

// FrameType is the type of a frame.
type FrameType string

// The types of requests. A request of another type is refused.
const (
	FrameReset FrameType = "reset"
	FrameStep  FrameType = "step"
	FrameState FrameType = "state"
	frameClose FrameType = "close"
)

// The types of answers. An answer to FrameState has the type of the request.
const (
	frameObservation FrameType = "observation"
	frameError       FrameType = "error"
)

type frame struct {
	Type FrameType       `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
}

// encode encodes a frame. If data is nil, the frame has no such key, because the server of openenv refuses a state
// frame with one.
func encode(kind FrameType, data any) ([]byte, error) {
	if data == nil {
		return json.Marshal(frame{Type: kind})
	}

	body, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}

	return json.Marshal(frame{Type: kind, Data: body})
}

// Code is the code of a refusal (docs/openenv-profile.md).
type Code string

// The codes of refusals. CodeInvalidAction is the code of a mistake of the agent, which is not a refusal.
const (
	CodeJSON          Code = "INVALID_JSON"
	CodeType          Code = "UNKNOWN_TYPE"
	CodeValidation    Code = "VALIDATION_ERROR"
	CodeUnknownTask   Code = "UNKNOWN_TASK"
	CodeExecution     Code = "EXECUTION_ERROR"
	CodeCapacity      Code = "CAPACITY_REACHED"
	CodeSession       Code = "SESSION_ERROR"
	CodeTaskInit      Code = "TASK_INIT"
	CodeA11y          Code = "A11Y"
	CodeADB           Code = "ADB"
	CodeDirty         Code = "DIRTY"
	CodeBusy          Code = "BUSY"
	CodeStale         Code = "STALE_LEASE"
	CodeInvalidAction Code = "INVALID_ACTION"
)

// Error is a server's refusal.
type Error struct {
	Code    Code    `json:"code"`
	Message string  `json:"message"`
	Retry   float64 `json:"retry_after_s"` // for CodeBusy: the seconds to wait before the next attempt
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// CodeOf returns the code of the refusal in err's chain, or "".
func CodeOf(err error) Code {
	if e, ok := refusalIn(err); ok {
		return e.Code
	}

	return ""
}

func refusalIn(err error) (e *Error, ok bool) {
	ok = errors.As(err, &e)
	return e, ok
}
