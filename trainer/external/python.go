package external

import (
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"time"

	"github.com/collabui/collabui/domain"
)

// Versions asks a Python interpreter for the versions of packages, without importing them; those that it does not have are left out. An interpreter that cannot be asked, or "", is said
// to be unknown.
func Versions(python string, packages ...string) map[string]string {
	out := map[string]string{"python": "unknown"}
	if python == "" {
		return out
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, python, append([]string{"-c", `import importlib.metadata as m,json,sys
v={"python":sys.version.split()[0]}
for p in sys.argv[1:]:
    try: v[p]=m.version(p)
    except m.PackageNotFoundError: pass
print(json.dumps(v))`}, packages...)...)
	c.Env = environ("")
	raw, err := c.Output()
	if err == nil {
		_ = json.Unmarshal(raw, &out)
	}
	return out
}

// Copies turns weights into numbers of copies, because training programs know no weights: systematic resampling gives as many rows as there were, each as often as its share of the
// weight, rounded up or down, in the same order.
func Copies(pairs []domain.Pair) []domain.Pair {
	sum := 0.0
	for _, p := range pairs {
		sum += p.Weight
	}
	if sum <= 0 || !slices.ContainsFunc(pairs, func(p domain.Pair) bool { return p.Weight != pairs[0].Weight }) {
		return slices.Clone(pairs)
	}
	n := float64(len(pairs))
	var out []domain.Pair
	upto := 0.0
	for i, p := range pairs {
		upto += p.Weight / sum * n
		if i == len(pairs)-1 {
			upto = n // whatever rounding made of it
		}
		for float64(len(out))+0.5 <= upto {
			out = append(out, p)
		}
	}
	return out
}
