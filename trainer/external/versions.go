package external

import (
	"context"
	"encoding/json"
	"os/exec"
	"time"
)

// versionsLimit bounds the time in which an interpreter lists versions.
const versionsLimit = 20 * time.Second

const versionsScript = `import importlib.metadata as m,json,sys
v={"python":sys.version.split()[0]}
for p in sys.argv[1:]:
    try: v[p]=m.version(p)
    except m.PackageNotFoundError: pass
print(json.dumps(v))`

// Versions returns the versions of a Python interpreter and of packages, without importing them. Packages that are not
// installed are left out. If the interpreter is "" or cannot be started, its version is unknown.
func Versions(python string, packages ...string) map[string]string {
	out := map[string]string{"python": "unknown"}
	if python == "" {
		return out
	}

	ctx, cancel := context.WithTimeout(context.Background(), versionsLimit)
	defer cancel()
	program := exec.CommandContext(ctx, python, append([]string{"-c", versionsScript}, packages...)...)
	program.Env = Environ()

	if raw, err := program.Output(); err == nil {
		_ = json.Unmarshal(raw, &out)
	}

	return out
}
