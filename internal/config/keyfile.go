package config

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/collabui/collabui/fault"
)

// EnvKeyFile names a file with values of keys that models name, a line NAME=VALUE for each. The file is read whenever a
// model is connected, so that a new key needs no restart. A supervisor sets the variable for its worker.
const EnvKeyFile = "COLLABUI_KEY_FILE"

// KeyFile is the name of the file in a data folder that EnvKeyFile names by default.
const KeyFile = "keys.env"

// ModelSecret returns the value of a key that a model names: from the file of EnvKeyFile, or otherwise as Secret does.
// A file that other accounts can read is an invalid fault. No error contains a part of a value.
func ModelSecret(name string) (string, error) {
	path := os.Getenv(EnvKeyFile)
	if path == "" {
		return Secret(name)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Secret(name)
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return "", fault.New(fault.Invalid, "other accounts may use %s, so it is not read: make it private with "+
			"`chmod 600 %s`", path, fault.ShellQuote(path))
	}
	data, err := read(EnvKeyFile, path)
	if err != nil {
		return "", err
	}

	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		given, value, found := strings.Cut(line, "=")
		if !found {
			return "", fault.New(fault.Invalid, "%s:%d is not NAME=VALUE", path, number)
		}
		if strings.TrimSpace(given) == name {
			return strings.Trim(strings.TrimSpace(value), `"'`), nil
		}
	}

	return Secret(name)
}
