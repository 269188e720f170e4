package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// actionJSON is the JSON form of an action: the type under the key of its family, then the fields.
type actionJSON struct {
	Mobile string `json:"action_type,omitempty"`
	Web    string `json:"action,omitempty"`
	actionFields
}

// actionFields is an Action without its methods.
type actionFields Action

// JSON returns the action as agents write it.
func (a Action) JSON() string {
	b, _ := json.Marshal(a) // Strings, numbers and flags always encode.
	return string(b)
}

// MarshalJSON writes the type under the key of the action's family.
func (a Action) MarshalJSON() ([]byte, error) {
	wire := actionJSON{actionFields: actionFields(a)}
	if a.InFamily(FamilyWeb) {
		wire.Web = a.Type
	} else {
		wire.Mobile = a.Type
	}

	return json.Marshal(wire)
}

// UnmarshalJSON takes the family from the key that holds the type. Unknown fields are errors.
func (a *Action) UnmarshalJSON(raw []byte) error {
	var wire actionJSON
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(&wire)

	// Records keep these messages, so they name the field as agents write it.
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		wrongType.Field = strings.TrimPrefix(wrongType.Field, "actionFields.")
	}
	if err != nil {
		return err
	}
	if wire.Mobile != "" && wire.Web != "" {
		return errors.New(`both "action_type" and "action"`)
	}

	*a = Action(wire.actionFields)
	a.Type = wire.Mobile
	if wire.Web != "" {
		a.Family = FamilyWeb
		a.Type = wire.Web
	}

	return nil
}
