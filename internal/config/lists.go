package config

import (
	"cmp"
	"os"
	"path"
	"strings"
)

// EnvModelKeys lists the variables that specifications may name as keys or headers of models: names, separated by
// commas, in which * means any characters. COLLABUI_* is never included. NAME=HOST restricts a variable to that host,
// and to its port if it has one, regardless of other entries. Keys are sent encrypted, or on the loopback;
// NAME=http://HOST permits sending the key to that host in clear, too.
const EnvModelKeys = "COLLABUI_MODEL_KEYS"

// ModelKey is an entry of the list.
type ModelKey struct {
	pattern string
	Host    string // as written in the list
	Bound   bool   // whether the variable is restricted to Host
}

// ModelKeys returns the list, parsed and as text. By default it is *_API_KEY.
func ModelKeys() (keys []ModelKey, list string) {
	list = cmp.Or(os.Getenv(EnvModelKeys), "*_API_KEY")
	for entry := range strings.SplitSeq(list, ",") {
		var modelKey ModelKey
		modelKey.pattern, modelKey.Host, modelKey.Bound = strings.Cut(strings.TrimSpace(entry), "=")
		keys = append(keys, modelKey)
	}

	return keys, list
}

// EnvTrainerOptions lists the options of training programs that specifications may set besides the usual ones: names,
// separated by commas. Include trust_remote_code only if the folders of models may contain code.
const EnvTrainerOptions = "COLLABUI_TRAINER_OPTIONS"

// TrainerOptions returns the names in EnvTrainerOptions.
func TrainerOptions() (names []string) {
	for name := range strings.SplitSeq(os.Getenv(EnvTrainerOptions), ",") {
		name = strings.TrimSpace(name)
		if name != "" {
			names = append(names, name)
		}
	}

	return names
}

// Names reports whether the entry matches a variable.
func (k ModelKey) Names(variable string) bool {
	is, err := path.Match(k.pattern, variable)

	return err == nil && is
}
