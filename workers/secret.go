package workers

import (
	"cmp"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
)

// EnvModelKeys lists the variables that specifications may name as keys or headers of models: names, separated by
// commas, in which * means any characters. COLLABUI_* is never among them.
const EnvModelKeys = "COLLABUI_MODEL_KEYS"

// defaultModelKeys is the list if there is none.
const defaultModelKeys = "*_API_KEY"

// secret reads a variable that a specification names, or the file that the variable with _FILE appended names. One that
// is missing or not listed is an invalid fault, because a retry cannot supply it. Whoever writes a specification also
// chooses the address that the value is sent to, so no other variable of this process may be named.
func secret(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	list := cmp.Or(os.Getenv(EnvModelKeys), defaultModelKeys)
	listed := slices.ContainsFunc(strings.Split(list, ","), func(pattern string) bool {
		ok, err := path.Match(strings.TrimSpace(pattern), name)

		return err == nil && ok
	})
	if !listed || strings.HasPrefix(name, "COLLABUI_") {
		return "", fault.New(fault.Invalid,
			"this worker gives no model the variable %s: its list %s has %s; add the name there and start it again",
			name, EnvModelKeys, list)
	}

	v, err := config.Secret(name)
	if err == nil && v == "" {
		err = fault.New(fault.Invalid, "this worker has no %s: set it, or %s_FILE, and start it again", name, name)
	}

	return v, err
}
