package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/health"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

func doctorCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and the services, and say what to do",
		Long: `doctor checks this machine and the services, and prints what to do. The services' logs are in the folder
logs of the data folder.`,
		Example: "  collabui doctor",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), a) },
	}
}

func runDoctor(ctx context.Context, a *app.App) error {
	bad := 0
	services := health.Services(ctx, a)
	if len(health.Problems(services)) == 0 {
		services = append(services, health.StorePromises(ctx, a)...)
	}
	for _, finding := range append(machine(a), services...) {
		if !finding.OK {
			bad++
		}
		if err := a.Print(finding, finding.Text); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%w: %s", app.ErrFailed, terminal.Count(bad, "finding"))
	}

	return nil
}

// machine checks this machine. On a cluster a missing browser or service program does not count as a failure: only
// people know which host needs them.
func machine(a *app.App) []health.Finding {
	cpu := health.Finding{What: "cpu", OK: true, Detail: fmt.Sprintf("%s, %s/%s, small-policy kernel %s",
		terminal.Count(runtime.NumCPU(), "core"), runtime.GOOS, runtime.GOARCH, tinylm.Kernel())}
	chromium := health.Finding{What: "chromium", OK: true}
	path, err := browser.Find()
	if err == nil {
		var who string
		who, err = browser.Account()
		path += ", " + who
	}
	chromium.Detail = path
	if err != nil {
		chromium.OK = a.Cluster
		chromium.Detail = "none"
		chromium.Fix = err.Error()
	}
	if a.Cluster {
		return []health.Finding{cpu, chromium}
	}

	return append([]health.Finding{cpu, chromium, servicesProgram()}, health.DiskSpace(a)...)
}

// servicesProgram checks that the program of the local services is in the same folder as this one.
func servicesProgram() health.Finding {
	self, _ := os.Executable()
	path := filepath.Join(filepath.Dir(self), "collabui-local")
	finding := health.Finding{What: "collabui-local", OK: true, Detail: path}
	if _, err := exec.LookPath(path); err != nil {
		finding.OK = false
		finding.Fix = "take it from a release, run `make build` in a checkout, or set the addresses of services"
	}

	return finding
}
