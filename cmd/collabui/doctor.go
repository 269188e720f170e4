package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

// finding is one line of doctor's output.
type finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

func doctorCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and the services, and say what to do",
		Long: `doctor checks this machine and the services, and prints what to do. The services' logs are in the folder
logs of the data folder.`,
		Example: "  collabui doctor",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.runDoctor(c.Context()) },
	}
}

func (a *app) runDoctor(ctx context.Context) error {
	bad := 0
	services := a.services(ctx)
	if len(silent(services)) == 0 {
		services = append(services, a.promises(ctx)...)
	}
	for _, f := range append(a.machine(), services...) {
		if !f.OK {
			bad++
		}
		if err := a.print(f, f.text); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%w: %d findings", errFailed, bad)
	}

	return nil
}

// trialLimit bounds a trial of the store, which takes about 20 requests, one after the other.
const trialLimit = 20 * time.Second

// promises tries what the store must promise. It skips a store that cannot be reached.
func (a *app) promises(ctx context.Context) []finding {
	if _, alive := supervisor.Read(a.data); !alive && !a.cluster {
		return nil
	}
	b, _, err := a.bucket()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trialLimit)
	defer cancel()
	broken, err := store.Promises(ctx, b)
	f := finding{What: "store's promises", OK: broken == ""}
	switch {
	case broken != "":
		f.Detail, f.Fix = broken, "see "+whatAStorePromises
	case errors.Is(err, store.ErrNotTried):
		f.Detail = strings.Join(strings.Fields("not tried: "+err.Error()), " ")
	case err != nil:
		f.OK, f.Fix = false, "run "+a.typed("doctor")+" again"
		f.Detail = strings.Join(strings.Fields("not known: "+err.Error()), " ")
	default:
		f.Detail = "If-None-Match, read after write, whole lists, copies, uploads in parts, deletion, clocks"
	}

	return []finding{f}
}

// whatAStorePromises is the section of the documentation about the promises of stores.
const whatAStorePromises = "\"What a store must promise\" in docs/guarantees.md"

func (f finding) text(w io.Writer) {
	mark := "ok  "
	if !f.OK {
		mark = "FAIL"
	}
	say(w, "%s %-16s %s", mark, f.What, f.Detail)
	if f.Fix != "" {
		say(w, "     to do: %s", f.Fix)
	}
}

// machine checks this machine. On a cluster a missing browser or service program does not count as a failure: only
// people know which host needs them.
func (a *app) machine() []finding {
	cpu := finding{What: "cpu", OK: true, Detail: fmt.Sprintf("%d cores, %s/%s, small-policy kernel %s",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, tinylm.Kernel())}
	chromium := finding{What: "chromium", OK: true}
	path, err := browser.Find()
	if err == nil {
		var who string
		who, err = browser.Account()
		path += ", " + who
	}
	if chromium.Detail = path; err != nil {
		chromium.OK, chromium.Detail, chromium.Fix = a.cluster, "none", err.Error()
	}
	if a.cluster {
		return []finding{cpu, chromium}
	}

	return append([]finding{cpu, chromium, servicesProgram()}, a.disk()...)
}

// servicesProgram checks that the program of the local services is in the same folder as this one.
func servicesProgram() finding {
	self, _ := os.Executable()
	path := filepath.Join(filepath.Dir(self), "collabui-local")
	f := finding{What: "collabui-local", OK: true, Detail: path}
	if _, err := exec.LookPath(path); err != nil {
		f.OK, f.Fix = false, "take it from a release, run `make build` in a checkout, or set the addresses of services"
	}

	return f
}

// minFree is the disk space that a quickstart needs, in bytes, with a margin.
const minFree = 1 << 30

func (a *app) disk() []finding {
	left, err := disk.Free(a.data)
	if err != nil {
		return nil
	}
	f := finding{
		What: "disk", OK: left >= minFree, Detail: fmt.Sprintf("%.1f GB free for %s", float64(left)/1e9, a.data),
	}
	if !f.OK {
		f.Fix = "free at least 1 GB, or choose another folder with --data"
	}

	return []finding{f}
}
