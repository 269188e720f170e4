package app

import (
	"os"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/store"
)

// Endpoints returns the addresses of the services: the data folder's if its supervisor runs, otherwise the
// environment's. The addresses of services that do not run, or have not started yet, are missing.
func (a *App) Endpoints() (config.Endpoints, error) {
	if _, alive := supervisor.Read(a.Data); alive && !a.Cluster {
		return supervisor.Endpoints(a.Data)
	}

	return config.FromEnv()
}

// ResolveEndpoints returns the addresses of the services for a command that needs them.
func (a *App) ResolveEndpoints() (config.Endpoints, error) {
	endpoints, err := a.Endpoints()
	st, alive := supervisor.Read(a.Data)
	switch {
	case err != nil:
		return endpoints, err
	case a.Cluster:
		return endpoints, endpoints.Complete()
	case alive && !st.Ready:
		return endpoints, fault.New(fault.Transient, "the services of %s are still starting: wait for them with %s",
			a.Data, a.Typed("up"))
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

// OpenObjects opens the store for a command that only reads, whether services run or not: the files of this data
// folder's own S3 server, or the store at an address. If no services run, the address comes from the environment, as
// for all commands, and needs no others beside it. OpenObjects also returns the addresses of the services.
func (a *App) OpenObjects() (store.Keeper, config.Endpoints, error) {
	endpoints, err := a.Endpoints()
	if err != nil {
		return nil, endpoints, err
	}
	dir, own := supervisor.Objects(a.Data)
	_, alive := supervisor.Read(a.Data)
	elsewhere := a.Cluster || !alive && os.Getenv(config.EnvS3) != ""
	if own && !elsewhere {
		return store.Files{Dir: dir}, endpoints, nil
	}
	if endpoints.Store.Endpoint == "" {
		_, err = a.ResolveEndpoints()

		return nil, endpoints, err
	}
	bucket, err := endpoints.OpenStore()

	return bucket, endpoints, err
}
