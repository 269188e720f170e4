package machine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/observe/logging"
	"github.com/collabui/collabui/internal/payloads"
	"github.com/collabui/collabui/workers"
)

// Environment variables of a worker's host.
const (
	envLlamaFactory = "COLLABUI_LLAMAFACTORY" // path of llamafactory-cli
	envPython       = "COLLABUI_PYTHON"       // interpreter with the packages of training programs
	envServerKey    = "COLLABUI_SERVER_KEY"   // API key of the server next to a gateway
	envCallLog      = "COLLABUI_CALL_LOG"     // file of policy-server, one line per answered request: for tests
)

// workerOptions are the flags of worker.
type workerOptions struct {
	workers.Options
	child app.ChildOptions
	gpus  string
	given func(flag string) bool // reports whether the user set a flag
}

func workerCmd(a *app.App) *cobra.Command {
	var options workerOptions
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run activities and workflows",
		Long: `worker offers roles. control, rollout, model and gpu take work from the task queues of the same names.
The others listen at --listen, and a worker has at most one of them. serve is the gateway next to a server of
language models (vLLM, SGLang); it loads the adapters of policies on demand. policy-server serves small policies over
the OpenAI chat API. Clients of both must send the key in ` + config.EnvPolicyKey + ` if that is set. codec decrypts
payloads for the Temporal UI at ` + config.EnvUI + `, with the keys of ` + payloads.EnvKeys + ` (or its _FILE). Its key
is in ` + workers.EnvCodecKey + ` (or its _FILE), and a browser asks for it as a password, with any name, when a person
opens its address; the UI of local services uses the codec server in ` + config.EnvCodec + `. Without a key these roles
listen on the loopback only.

--tabs, --calls, --updates and --gpus are derived from the machine's cores, memory and GPUs unless they are set.
SIGTERM drains the worker: activities get --drain to finish. Another worker continues the others from their last record
or checkpoint. docs/run-across-machines.md has a complete example.

` + envLlamaFactory + ` is the path of llamafactory-cli, ` + envPython + ` an interpreter with the packages of training
programs, ` + envServerKey + ` (or ` + envServerKey + `_FILE) the API key of the server next to a gateway.
` + config.EnvModelKeys + ` lists the variables that specifications may name as keys of models, by default *_API_KEY;
NAME=HOST sends one to that host only, by https or on the loopback; NAME=http://HOST also in clear. Values are those of
the file in ` + config.EnvKeyFile + `, a line NAME=VALUE for each, which is read without a restart, or of the
environment.
` + hosts.Env + ` lists the hosts, as HOST or HOST:PORT, at which specifications may have models and environments.
The default ` + hosts.Beyond + ` stands for all but this machine's loopback, which localhost or localhost:PORT in the
list allows. Link-local addresses and the metadata services of clouds are never reached.
` + logging.EnvLevel + ` (debug, info, warn or error) and ` + logging.EnvFormat + ` (text or json) set what is logged.
` + config.EnvTrainerOptions + ` lists further options of training programs that specifications may set.`,
		Example: "  collabui worker --roles rollout,model --tabs 6 --drain 60s\n" +
			"  collabui worker --roles gpu --gpus 0,1 --work /scratch/collabui\n" +
			"  collabui worker --roles serve --listen 10.0.0.5:9000 --server http://127.0.0.1:8000 " +
			"--base-model /models/Qwen2-7B-Instruct\n" +
			"  collabui worker --roles policy-server --listen 127.0.0.1:8000",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWorker(cmd.Context(), a, options) },
	}
	options.addFlags(cmd.Flags())

	return cmd
}

func (o *workerOptions) addFlags(flags *pflag.FlagSet) {
	o.given = flags.Changed
	flags.StringSliceVar(&o.Roles, "roles", workers.Roles,
		"roles to offer: control, rollout, model, gpu; serve, policy-server or codec")
	flags.IntVar(&o.Tabs, "tabs", 0, "rollout: concurrent episodes per browser")
	flags.IntVar(&o.Browsers, "browsers", 1, "rollout: browser processes")
	flags.IntVar(&o.Calls, "calls", 0, "model: concurrent activities")
	flags.IntVar(&o.Updates, "updates", 0, "gpu: concurrent policy updates; with GPUs one each")
	flags.StringVar(&o.gpus, "gpus", "",
		"gpu: `LIST` of GPUs as in CUDA_VISIBLE_DEVICES, or none (default: those of the machine)")
	flags.StringVar(&o.Training.Work, "work", "",
		"gpu, serve: `FOLDER` for training jobs and adapters, without blanks (default: in the temporary folder)")
	flags.StringVar(&o.Training.Shares, "shares", "",
		"gpu: `URL` of the gateway whose server uses the same GPU: it sleeps during updates")
	o.addServeFlags(flags)
	flags.DurationVar(&o.Drain, "drain", 5*time.Second, "time that activities get to finish when the worker is stopped")
	flags.StringVar(&o.Build, "build", os.Getenv(workers.EnvBuild),
		"`NAME` of this worker's build: runs then move to another build only between epochs ("+workers.EnvBuild+")")
	flags.StringVar(&o.Health, "health", "", "answer GET /health, /ready and /metrics at `HOST:PORT`")
	o.child.AddFlags(flags)
}

func (o *workerOptions) addServeFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Serve.Listen, "listen", "127.0.0.1:9000",
		"serve, policy-server, codec: `HOST:PORT` to listen at")
	app.AddTLSFlags(flags, &o.Serve.TLS)
	flags.StringVar(&o.Serve.Server, "server", "http://127.0.0.1:8000",
		"serve: `URL` of the server next to the gateway, without /v1")
	flags.StringVar(&o.Serve.Engine, "engine", "vllm", "serve: vllm or sglang")
	flags.StringVar(&o.Serve.Model, "base-model", "",
		"serve: `FOLDER` of the server's base model; without it policies of another base model are not refused")
	flags.StringVar(&o.Serve.Base, "base-name", "",
		"serve: the server's `NAME` of the base model (default: its first model)")
	flags.StringVar(&o.Serve.Adapters, "adapters", "",
		"serve: `FOLDER` for adapters, which the server reads under the same path (default: in --work)")
	flags.IntVar(&o.Serve.Keep, "keep", 8, "serve: adapters to keep loaded; at most the server's --max-cpu-loras")
}

func runWorker(ctx context.Context, a *app.App, options workerOptions) error {
	if err := options.check(); err != nil {
		return err
	}
	if err := os.Setenv(hosts.Env, cmp.Or(os.Getenv(hosts.Env), hosts.Beyond)); err != nil {
		return fault.As(fault.Fatal, err)
	}
	log, err := logging.New(a.Err, logging.FromEnv())
	if err != nil {
		return err
	}
	options.Log = log
	if options.gpus != "" {
		options.Training.GPUs = slices.DeleteFunc(strings.Split(options.gpus, ","), func(text string) bool {
			return text == "" || text == "none"
		})
	}
	options.Training.LlamaFactory = os.Getenv(envLlamaFactory)
	options.Training.Python = os.Getenv(envPython)
	if options.Endpoints, err = workerEndpoints(a, options.Roles); err != nil {
		return err
	}
	key, err := config.Secret(envServerKey)
	if err != nil {
		return err
	}
	options.Serve.CallLog = os.Getenv(envCallLog)
	options.Serve.Key = config.First(config.Live(envServerKey, key))
	options.Training.SharesKey = options.Endpoints.PolicyBearer()

	return workers.Run(options.child.Lifetime(ctx), options.Options)
}

// check rejects impossible numbers. 0 means that a number is derived from the machine; a user cannot set it.
func (o *workerOptions) check() error {
	for _, x := range []struct {
		flag string
		n    int
	}{
		{"tabs", o.Tabs}, {"browsers", o.Browsers}, {"calls", o.Calls}, {"updates", o.Updates},
	} {
		if x.n < 0 || x.n > app.MaxTabs || x.n == 0 && o.given(x.flag) {
			return fault.New(fault.Invalid, "--%s must be from 1 to %d, not %d", x.flag, app.MaxTabs, x.n)
		}
	}

	return nil
}

// workerEndpoints returns the environment's endpoints if they are complete, as a supervisor passes them, and otherwise
// the data folder's. A policy server needs only the store, and the codec server not even that.
func workerEndpoints(a *app.App, roles []string) (config.Endpoints, error) {
	endpoints, err := config.FromEnv()
	if err != nil || endpoints.Complete() == nil {
		return endpoints, err
	}
	alone := len(roles) == 1 && slices.Contains(workers.Servers, roles[0])
	if alone && endpoints.Store.Endpoint != "" {
		return endpoints, nil
	}
	if local, err := supervisor.Endpoints(a.Data); err == nil && !a.Cluster {
		return local, nil
	}
	if alone && roles[0] == workers.RoleCodec {
		return endpoints, nil
	}

	err = endpoints.Complete()
	if err != nil && !a.Cluster {
		err = fmt.Errorf("%w, or start local services with %s", err, a.Typed("up"))
	}

	return endpoints, err
}
