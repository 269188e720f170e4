package app

import (
	"os"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/store"
)

// ResolveEndpoints returns the addresses of the services: the data folder's if its supervisor runs, otherwise the
// environment's.
func (a *App) ResolveEndpoints() (config.Endpoints, error) {
	if _, alive := supervisor.Read(a.Data); alive && !a.Cluster {
		return supervisor.Endpoints(a.Data)
	}

	endpoints, err := config.FromEnv()
	switch {
	case err != nil:
		return endpoints, err
	case a.Cluster:
		return endpoints, endpoints.Complete()
	case endpoints.Store.Endpoint == "":
		return endpoints,
			fault.New(fault.Transient, "nothing runs for %s: start it with %s, or set %s and the other addresses",
				a.Data, a.Typed("up"), config.EnvS3)
	}

	return endpoints, nil
}

// OpenStore opens the store.
func (a *App) OpenStore() (store.Keeper, config.Endpoints, error) {
	endpoints, err := a.ResolveEndpoints()
	if err != nil {
		return nil, endpoints, err
	}
	bucket, err := endpoints.OpenStore()

	return bucket, endpoints, err
}

// RequireLocal returns an error if the services run on a cluster, for a command that manages services of this machine.
func (a *App) RequireLocal() error {
	if a.Cluster {
		return fault.New(fault.Invalid,
			"--cluster (or %s): no service runs here; start and stop services and workers on their own hosts",
			envCluster)
	}

	return nil
}

// OpenObjects opens the store to read it whether services run or not: the files of this data folder's own S3 server, or
// the store at an address. If no services run, the address comes from the environment, as for all commands.
func (a *App) OpenObjects() (store.Bucket, error) {
	dir, own := supervisor.Objects(a.Data)
	_, alive := supervisor.Read(a.Data)
	elsewhere := a.Cluster || !alive && os.Getenv(config.EnvS3) != ""
	if own && !elsewhere {
		return store.Files{Dir: dir}, nil
	}
	bucket, _, err := a.OpenStore()

	return bucket, err
}

// RunningEndpoints returns the addresses of the running services, or no addresses if none run.
func (a *App) RunningEndpoints() config.Endpoints {
	if _, alive := supervisor.Read(a.Data); !alive && !a.Cluster {
		return config.Endpoints{}
	}
	endpoints, err := a.ResolveEndpoints()
	if err != nil {
		return config.Endpoints{}
	}

	return endpoints
}
