package openenv

import (
	"net/http"
	"os"
	"strings"

	"github.com/collabui/collabui/fault"
)

// EnvKey is the environment variable of the key that servers of environments ask for, if they can be reached from other
// machines. EnvKey with _FILE names a file that holds it.
const EnvKey = "COLLABUI_ENVS_KEY"

// Key returns the key, or "" if there is none.
func Key() (string, error) {
	path := os.Getenv(EnvKey + "_FILE")
	if path == "" {
		return os.Getenv(EnvKey), nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fault.New(fault.Invalid, "%s_FILE: %w", EnvKey, err)
	}

	return strings.TrimSpace(string(raw)), nil
}

// Authorize adds the key to the header of a request to a server of environments, if there is one.
func Authorize(h http.Header) error {
	key, err := Key()
	if err == nil && key != "" {
		h.Set("Authorization", "Bearer "+key)
	}

	return err
}
