package main

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/workers"
)

// Environment variables of a worker's host.
const (
	envLlamaFactory = "COLLABUI_LLAMAFACTORY" // path of llamafactory-cli
	envPython       = "COLLABUI_PYTHON"       // interpreter with its packages
	envServerKey    = "COLLABUI_SERVER_KEY"   // that the server beside --roles serve wants
)

func workerCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "worker", Short: "Run activities and workflows", Args: cobra.NoArgs,
		Long:    "worker offers roles: control, rollout, model and gpu work on the task queues of the same names; serve is the gateway beside a server of language models (vLLM, SGLang), which loads\nthe adapters of policies as they are asked for. --tabs, --calls, --updates and --gpus follow from the machine's cores, memory and GPUs where they are not given. SIGTERM drains: activities get --drain to end; what does not is taken up by\nanother worker, from its last record or checkpoint. docs/run-across-machines.md has a whole example.\n" + envLlamaFactory + " is the path of llamafactory-cli, " + envPython + " an interpreter with the packages of training programs, " + envServerKey + " (or _FILE) what the server beside a gateway asks for.",
		Example: "  collabui worker --roles rollout,model --tabs 6 --drain 60s\n  collabui worker --roles gpu --gpus 0,1 --work /scratch/collabui\n  collabui worker --roles serve --listen 10.0.0.5:9000 --server http://127.0.0.1:8000 --base-model /models/Qwen2-7B-Instruct"}
	o := workers.Options{Log: slog.New(slog.NewTextHandler(a.err, nil))}
	f := c.Flags()
	f.StringSliceVar(&o.Roles, "roles", workers.Roles, "what to offer: control, rollout, model, gpu, serve")
	f.IntVar(&o.Tabs, "tabs", 0, "rollout: episodes at once per browser")
	f.IntVar(&o.Browsers, "browsers", 1, "rollout: browser processes")
	f.IntVar(&o.Calls, "calls", 0, "model: activities at once")
	f.IntVar(&o.Updates, "updates", 0, "gpu: policy updates at once; with GPUs one each")
	gpus := f.String("gpus", "", "gpu: `LIST` of GPUs as CUDA_VISIBLE_DEVICES names them, or none; default: those of the machine")
	f.StringVar(&o.Training.Work, "work", "", "gpu, serve: `FOLDER` for training jobs and adapters, without blanks; default: below the temporary folder")
	f.StringVar(&o.Training.Shares, "shares", "", "gpu: `URL` of the gateway whose server uses the same GPU: it sleeps during updates")
	f.StringVar(&o.Serve.Listen, "listen", "127.0.0.1:9000", "serve: `HOST:PORT` of the gateway")
	f.StringVar(&o.Serve.Server, "server", "http://127.0.0.1:8000", "serve: `URL` of the server beside it, without /v1")
	f.StringVar(&o.Serve.Engine, "engine", "vllm", "serve: vllm or sglang")
	f.StringVar(&o.Serve.Model, "base-model", "", "serve: `FOLDER` of the base model that the server serves; without it policies of another base are not refused")
	f.StringVar(&o.Serve.Base, "base-name", "", "serve: the server's `NAME` of the base model; default: the first that it lists")
	f.StringVar(&o.Serve.Adapters, "adapters", "", "serve: `FOLDER` for adapters that the server reads under the same path; default: in --work")
	f.IntVar(&o.Serve.Keep, "keep", 8, "serve: adapters loaded at once; not more than the server's --max-cpu-loras")
	f.DurationVar(&o.Drain, "drain", 5*time.Second, "what activities get to end in when the worker is asked to stop")
	pipe := f.Bool("parent-pipe", false, "end when standard input closes")
	c.RunE = func(c *cobra.Command, _ []string) error {
		for flag, n := range map[string]int{"tabs": o.Tabs, "browsers": o.Browsers, "updates": o.Updates, "calls": o.Calls} {
			if n < 0 || n > maxTabs || n == 0 && c.Flags().Changed(flag) {
				return fault.New(fault.Invalid, "--%s must be from 1 to %d, not %d", flag, maxTabs, n)
			}
		}
		if *gpus != "" {
			o.Training.GPUs = slices.DeleteFunc(strings.Split(*gpus, ","), func(s string) bool { return s == "" || s == "none" })
		}
		o.Training.LlamaFactory, o.Training.Python = os.Getenv(envLlamaFactory), os.Getenv(envPython)
		var err error
		if o.Endpoints, err = a.workerEndpoints(o.Roles); err != nil {
			return err
		}
		if o.Serve.Key, err = config.Secret(envServerKey); err != nil {
			return err
		}
		o.Training.SharesKey = o.Endpoints.PolicyKey
		return workers.Run(lifetime(c.Context(), *pipe), o)
	}
	return c
}
