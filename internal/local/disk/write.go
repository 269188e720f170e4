package disk

import (
	"os"
	"path"

	"github.com/collabui/collabui/fault"
)

// Write writes a file below a folder, which it creates if needed. The name has slashes, and may come from a store: a
// name that leaves the folder, by .. or by a link, is a corrupt fault, and nothing is written. Only this account can
// read what Write creates, because reports and exports show screens and prompts. It may be repeated.
func Write(folder, name string, body []byte) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	defer func() { _ = root.Close() }()

	if _, err := root.Lstat(name); err != nil && !os.IsNotExist(err) {
		return fault.New(fault.Corrupt, "the name %q of a file does not stay below %s: %w", name, folder, err)
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}

	return fault.As(fault.Invalid, root.WriteFile(name, body, 0o600))
}
