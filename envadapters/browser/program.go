package browser

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/collabui/collabui/fault"
)

// names are tried in this order. Debian's programs in /usr/bin are shell wrappers that keep running next to the
// browser, so the programs that they start come first.
var names = []string{
	"/usr/lib/chromium/chromium-headless-shell",
	"chromium-headless-shell",
	"/usr/lib/chromium/chromium",
	"chromium",
	"google-chrome",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// Find returns the path of a usable Chromium. COLLABUI_CHROMIUM overrides the search.
func Find() (string, error) {
	if p := os.Getenv("COLLABUI_CHROMIUM"); p != "" {
		if _, err := exec.LookPath(p); err != nil {
			return "", fault.New(fault.Invalid, "COLLABUI_CHROMIUM names %q, which cannot be run: %w", p, err)
		}

		return p, nil
	}

	for _, name := range names {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}

	return "", fault.New(fault.Invalid, "no Chromium found: install it "+
		"(Debian: apt-get install chromium-headless-shell) or set COLLABUI_CHROMIUM to its path")
}

// Version returns the name and the version that Chromium reports, such as "Chromium 140.0.7339.80".
func Version(ctx context.Context) (string, error) {
	path, err := Find()
	if err != nil {
		return "", err
	}
	version.mu.Lock()
	defer version.mu.Unlock()
	if version.path == path {
		return version.text, nil
	}

	command := exec.CommandContext(ctx, path, "--version")
	command.Env = environ()
	out, err := command.Output()
	if err != nil {
		return "", fault.New(fault.Transient, "%s --version: %w", path, err)
	}
	version.path = path
	version.text = strings.TrimSpace(string(out))

	return version.text, nil
}

// version caches what a program reported, so that this process keeps to the version that it began with.
var version struct {
	mu         sync.Mutex
	path, text string
}
