package llamafactory

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/collabui/collabui/fault"
)

// program returns the path of llamafactory-cli.
func (t *Tool) program() (string, error) {
	name := t.Program
	if name == "" {
		name = "llamafactory-cli"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fault.New(fault.Invalid, "this worker has no %s: install it (pip install llamafactory), "+
			"or set COLLABUI_LLAMAFACTORY to its path, and restart the worker: %w", name, err)
	}

	return filepath.Abs(path)
}

// Ready returns an invalid fault if this host has no llamafactory-cli.
func (t *Tool) Ready() error {
	_, err := t.program()

	return err
}

// shebang matches the first line of a Python script.
var shebang = regexp.MustCompile(`^#!\s*(\S*python[0-9.]*)\s*\n`)

// python returns the interpreter that has the program's packages, or "" if it is unknown.
func (t *Tool) python(program string) string {
	if t.Python != "" {
		return t.Python
	}

	return interpreter(program)
}

// interpreter returns the interpreter in a program's first line, or "".
func interpreter(program string) string {
	file, err := os.Open(program)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()

	head := make([]byte, 512)
	n, _ := file.Read(head)
	if m := shebang.FindSubmatch(head[:n]); m != nil {
		return string(m[1])
	}

	return ""
}
