package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/process/supervisor"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
)

// finding is one line of the doctor.
type finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

func doctorCmd(a *app) *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Check this machine and the services, and say what to do", Example: "  collabui doctor", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		bad := 0
		for _, f := range append(a.machine(), a.services(c.Context())...) {
			if !f.OK {
				bad++
			}
			if err := a.print(f, func(w io.Writer) {
				mark := "ok  "
				if !f.OK {
					mark = "FAIL"
				}
				_, _ = fmt.Fprintf(w, "%s %-16s %s\n", mark, f.What, f.Detail)
				if f.Fix != "" {
					_, _ = fmt.Fprintf(w, "     to do: %s\n", f.Fix)
				}
			}); err != nil {
				return err
			}
		}
		if bad > 0 {
			return fmt.Errorf("%w: %d findings", errFailed, bad)
		}
		return nil
	}}
}

// minFree is the disk that a quickstart needs with room to spare.
const minFree = 1 << 30

func (a *app) machine() []finding {
	out := []finding{{What: "cpu", OK: true, Detail: fmt.Sprintf("%d cores, %s/%s, small-policy kernel %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, tinylm.Kernel())}}
	p, err := browser.Find()
	f := finding{What: "chromium", OK: err == nil, Detail: p}
	if err != nil {
		f.Detail, f.Fix = err.Error(), "make chromium"
	}
	if a.cluster { // which of its hosts play pages, and that none runs services, only people know
		f.OK = true
		return append(out, f)
	}
	out = append(out, f)
	self, _ := os.Executable()
	local := filepath.Join(filepath.Dir(self), "collabui-local")
	_, err = exec.LookPath(local)
	f = finding{What: "collabui-local", OK: err == nil, Detail: local}
	if err != nil {
		f.Fix = "make build, or give addresses of services"
	}
	out = append(out, f)
	dir := a.data
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Dir(dir)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err == nil {
		left := st.Bavail * uint64(st.Bsize)
		f = finding{What: "disk", OK: left >= minFree, Detail: fmt.Sprintf("%.1f GB free for %s", float64(left)/1e9, a.data)}
		if !f.OK {
			f.Fix = "free at least 1 GB, or choose another folder with --data"
		}
		out = append(out, f)
	}
	return out
}

func (a *app) services(ctx context.Context) []finding {
	st, alive := supervisor.Read(a.data)
	if a.cluster {
		st, alive = supervisor.State{}, false
	}
	out := []finding{{What: "supervisor", OK: st.Ready, Detail: fmt.Sprintf("pid %d since %s %s", st.PID, st.Started.Format(time.RFC3339), st.Problem)}}
	switch {
	case a.cluster:
		out = nil
	case !alive:
		return []finding{{What: "services", OK: true, Detail: "none run for " + a.data + "; " + a.typed("up") + " or " + a.typed("train") + " starts them"}}
	}
	e, err := a.endpoints()
	if err == nil && a.cluster {
		err = e.Complete()
	}
	if err != nil {
		return append(out, finding{What: "services", Detail: err.Error()})
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	check := func(what, addr string, f func() error) {
		x := finding{What: what, OK: true, Detail: addr}
		if err := f(); err != nil {
			x.OK, x.Detail = false, addr+": "+err.Error()
			if !a.cluster {
				x.Fix = a.typed("logs %s", what)
			}
		}
		if p := st.Services[what].Problem; p != "" {
			x.OK, x.Detail = false, x.Detail+" (down: "+p+")"
		}
		if n := st.Services[what].Restarts; n > 0 {
			x.Detail += fmt.Sprintf(" (started again %d times)", n)
		}
		out = append(out, x)
	}
	check("temporal", e.Temporal, func() error {
		o, err := workers.ClientOptions(e, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		c, err := client.DialContext(ctx, o)
		if err == nil {
			c.Close()
		}
		return err
	})
	check("s3", e.StoreURL(), func() error {
		b, err := store.Open(e.Store)
		if err != nil {
			return err
		}
		return b.Check(ctx)
	})
	redis := config.Redacted(e.Redis)
	if redis == "" {
		redis = "none is given: no live progress, and every worker keeps to its own share of limits"
	}
	check("redis", redis, func() error {
		s, err := events.Open(e.Redis)
		if err != nil {
			return err
		}
		return s.Check(ctx)
	})
	policies, err := llm.PolicyServers(e.Policies(), e.PolicyKey, 0)
	if err != nil {
		check("policy", config.Redacted(e.Policy), func() error { return err })
		return out
	}
	for _, s := range policies.Health(ctx) {
		check("policy", s.URL, func() error {
			if !s.OK {
				return errors.New(s.Detail)
			}
			return nil
		})
	}
	return out
}
