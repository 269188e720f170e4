package main

import (
	"os"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/supervisor"
	"github.com/collabui/collabui/internal/store"
)

// endpoints returns the addresses of the services: the data folder's if its supervisor runs, otherwise the
// environment's.
func (a *app) endpoints() (config.Endpoints, error) {
	if _, alive := supervisor.Read(a.data); alive && !a.cluster {
		return supervisor.Endpoints(a.data)
	}

	e, err := config.FromEnv()
	switch {
	case err != nil:
		return e, err
	case a.cluster:
		return e, e.Complete()
	case e.Store.Endpoint == "":
		return e, fault.New(fault.Transient, "nothing runs for %s: start it with %s, or set %s and the other addresses",
			a.data, a.typed("up"), config.EnvS3)
	}

	return e, nil
}

// bucket opens the store.
func (a *app) bucket() (store.Keeper, config.Endpoints, error) {
	e, err := a.endpoints()
	if err != nil {
		return nil, e, err
	}
	b, err := e.OpenStore()

	return b, e, err
}

// local returns an error if the services run on a cluster, for a command that manages services of this machine.
func (a *app) local() error {
	if a.cluster {
		return fault.New(fault.Invalid,
			"--cluster (or %s): no service runs here; start and stop services and workers on their own hosts",
			envCluster)
	}

	return nil
}

// objects returns the store to verify: the files of this data folder's own S3 server, whether it runs or not, or the
// store at an address. If no services run, the address comes from the environment, as for all commands.
func (a *app) objects() (store.Bucket, error) {
	dir, own := supervisor.Objects(a.data)
	_, alive := supervisor.Read(a.data)
	elsewhere := a.cluster || !alive && os.Getenv(config.EnvS3) != ""
	if own && !elsewhere {
		return store.Files{Dir: dir}, nil
	}
	b, _, err := a.bucket()

	return b, err
}

// addresses returns the addresses of the running services, or no addresses if none run.
func (a *app) addresses() config.Endpoints {
	if _, alive := supervisor.Read(a.data); !alive && !a.cluster {
		return config.Endpoints{}
	}
	e, err := a.endpoints()
	if err != nil {
		return config.Endpoints{}
	}

	return e
}
