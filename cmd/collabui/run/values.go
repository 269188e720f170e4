package run

import (
	"os"
	"strings"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
)

// assignments reads KEY=VALUE arguments.
func assignments(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fault.New(fault.Invalid, "%q is not KEY=VALUE, such as train.beta=0.5", pair)
		}
		if _, twice := out[key]; twice {
			return nil, fault.New(fault.Invalid, "%s is given twice", key)
		}
		out[key] = value
	}

	return out, nil
}

// typedHere is the origin of values that a person types: files that they name are relative to the working directory.
func typedHere() spec.Source {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}

	return spec.Source{Dir: dir, Read: app.ReadFile}
}
