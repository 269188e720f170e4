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
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/process/logging"
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
	return &cobra.Command{
		Use:     "doctor",
		Short:   "Check this machine and the services, and say what to do",
		Example: "  collabui doctor",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.runDoctor(c.Context()) },
	}
}

func (a *app) runDoctor(ctx context.Context) error {
	bad := 0
	for _, f := range append(a.machine(), a.services(ctx)...) {
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

// machine checks this machine. On a cluster a missing browser or service program is not a failure: only people know
// which host needs them.
func (a *app) machine() []finding {
	cpu := finding{What: "cpu", OK: true, Detail: fmt.Sprintf("%d cores, %s/%s, small-policy kernel %s",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, tinylm.Kernel())}
	chromium := finding{What: "chromium", OK: true}
	path, err := browser.Find()
	if chromium.Detail = path; err != nil {
		chromium.OK, chromium.Detail, chromium.Fix = a.cluster, err.Error(), "make chromium"
	}
	if a.cluster {
		return []finding{cpu, chromium}
	}

	return append([]finding{cpu, chromium, servicesProgram()}, a.disk()...)
}

// servicesProgram checks that the program of the local services is next to this one.
func servicesProgram() finding {
	self, _ := os.Executable()
	path := filepath.Join(filepath.Dir(self), "collabui-local")
	f := finding{What: "collabui-local", OK: true, Detail: path}
	if _, err := exec.LookPath(path); err != nil {
		f.OK, f.Fix = false, "run make build, or set the addresses of services"
	}

	return f
}

// minFree is the disk space that a quickstart needs, in bytes, with a margin.
const minFree = 1 << 30

func (a *app) disk() []finding {
	dir := a.data
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Dir(dir)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return nil
	}
	left := st.Bavail * uint64(st.Bsize)
	f := finding{
		What: "disk", OK: left >= minFree, Detail: fmt.Sprintf("%.1f GB free for %s", float64(left)/1e9, a.data),
	}
	if !f.OK {
		f.Fix = "free at least 1 GB, or choose another folder with --data"
	}

	return []finding{f}
}

// services checks the services of the data folder, or those of the cluster.
func (a *app) services(ctx context.Context) []finding {
	d := diagnosis{app: a}
	if !a.cluster {
		var alive bool
		if d.state, alive = supervisor.Read(a.data); !alive {
			return []finding{{What: "services", OK: true, Detail: fmt.Sprintf(
				"none run for %s; %s or %s starts them", a.data, a.typed("up"), a.typed("train"))}}
		}
		d.supervisor()
	}
	e, err := a.endpoints()
	if err == nil && a.cluster {
		err = e.Complete()
	}
	if err != nil {
		return append(d.findings, finding{What: "services", Detail: err.Error()})
	}

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	d.check(supervisor.Temporal, e.Temporal, checkTemporal(ctx, e))
	d.check(supervisor.S3, e.StoreURL(), checkStore(ctx, e))
	d.redis(ctx, e)
	d.policies(ctx, e)

	return d.findings
}

// diagnosis collects findings about services.
type diagnosis struct {
	*app
	state    supervisor.State
	findings []finding
}

func (d *diagnosis) supervisor() {
	d.findings = append(d.findings, finding{
		What: "supervisor", OK: d.state.Ready,
		Detail: fmt.Sprintf("pid %d since %s %s", d.state.PID, d.state.Started.Format(time.RFC3339), d.state.Problem),
	})
}

// check adds a finding: err says what is wrong, and the state what the supervisor knows.
func (d *diagnosis) check(name supervisor.Name, addr string, err error) {
	f := finding{What: name, OK: err == nil, Detail: addr}
	if err != nil {
		f.Detail += ": " + err.Error()
		if !d.cluster {
			f.Fix = d.typed("logs %s", name)
		}
	}
	service := d.state.Services[name]
	if service.Problem != "" {
		f.OK, f.Detail = false, f.Detail+" (down: "+service.Problem+")"
	}
	if service.Restarts > 0 {
		f.Detail += fmt.Sprintf(" (restarted %d times)", service.Restarts)
	}
	d.findings = append(d.findings, f)
}

func (d *diagnosis) redis(ctx context.Context, e config.Endpoints) {
	addr := config.Redacted(e.Redis)
	if addr == "" {
		addr = "no address is given: no live progress, and every worker keeps to its own share of limits"
	}
	stream, err := events.Open(e.Redis)
	if err == nil {
		err = stream.Check(ctx)
	}
	d.check(supervisor.Redis, addr, err)
}

func (d *diagnosis) policies(ctx context.Context, e config.Endpoints) {
	servers, err := llm.PolicyServers(e.Policies(), e.PolicyKey, 0)
	if err != nil {
		d.check(supervisor.Policy, config.Redacted(e.Policy), err)
		return
	}
	for _, server := range servers.Health(ctx) {
		err = nil
		if !server.OK {
			err = errors.New(server.Detail)
		}
		d.check(supervisor.Policy, server.URL, err)
	}
}

func checkTemporal(ctx context.Context, e config.Endpoints) error {
	o, err := workers.ClientOptions(e, logging.Silent())
	if err != nil {
		return err
	}
	c, err := client.DialContext(ctx, o)
	if err == nil {
		c.Close()
	}

	return err
}

func checkStore(ctx context.Context, e config.Endpoints) error {
	b, err := store.Open(e.Store)
	if err != nil {
		return err
	}

	return b.Check(ctx)
}
