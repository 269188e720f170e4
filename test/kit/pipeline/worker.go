package pipeline

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/activities/roles"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// workerEnv makes this program a worker: it contains the addresses of Temporal, S3 and Redis.
const workerEnv = "COLLABUI_TEST_WORKER"

// Main is called by TestMain. If this process was started as a worker, Main works and exits.
func Main() {
	at := os.Getenv(workerEnv)
	if at == "" {
		return
	}
	if err := work(at); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work runs a worker of all roles or of the roles in RolesEnv, with the concurrency of a machine with two cores.
func work(at string) error {
	var services Services
	if _, err := fmt.Sscan(at, &services.Temporal, &services.S3, &services.Redis); err != nil {
		return err
	}
	bucket, err := openBucket(services.S3)
	if err != nil {
		return err
	}
	stream := events.Over(redis.NewClient(&redis.Options{Addr: services.Redis}))
	temporal, err := dial(services.Temporal)
	if err != nil {
		return err
	}
	defer temporal.Close()

	broken := make(chan error, 4)
	for queue, kind := range types(temporal, bucket, stream.Emit) {
		role := workflows.RoleOf(queue)
		if roles := os.Getenv(RolesEnv); roles != "" && !slices.Contains(strings.Fields(roles), role) {
			continue
		}
		w := worker.New(temporal, queue, worker.Options{
			MaxConcurrentActivityExecutionSize: max(4, places()),
			DisableWorkflowWorker:              queue != workflows.QueueControl,
			MaxHeartbeatThrottleInterval:       3 * time.Second,
			Interceptors:                       []interceptor.WorkerInterceptor{&workers.Near{}},

			OnFatalError: func(err error) { broken <- err },
		})
		if queue == workflows.QueueControl {
			for _, f := range workflows.All {
				w.RegisterWorkflow(f)
			}
			w.RegisterWorkflow(Busy)
		}
		if queue == workflows.QueueCare {
			w.RegisterActivity(wait)
		}
		w.RegisterActivity(kind)
		if err := w.Start(); err != nil {
			return err
		}
		defer w.Stop()
	}

	fmt.Println("ready")
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	select {
	case <-end:
		return nil
	case err := <-broken:
		return err
	}
}

// scriptedPages is the catalog of this build with the scripted suite in place of webtasks: it has other templates.
type scriptedPages struct{ catalog.All }

// CheckEnvironment accepts all options.
func (scriptedPages) CheckEnvironment(envadapters.Options) error { return nil }

// types returns the activities of every queue.
func types(temporal client.Client, bucket store.Bucket, emit activities.Emit) map[string]any {
	suites := play.NewSuites(func(o envadapters.Options) (envadapters.Suite, error) {
		return &scripted.Suite{Places: places(), Length: length(), Latency: latency(), Without: o.Without}, nil
	})
	wording := play.Wording{
		Render: fakepolicy.Render, Fits: func(string, string) bool { return true }, Over: func(string) int { return 0 },
	}
	model := fakepolicy.Policies{}
	e := &endpoints.Endpoints{Bucket: bucket}

	deps := roles.Dependencies{
		Common: activities.Common{
			Bucket: bucket, Catalog: scriptedPages{}, Emit: emit, Runs: activities.NewRuns(bucket, ""),
		},
		Suites: suites, Policies: model, Scores: model, Endpoints: e, Wording: wording, Threads: 1,
		Trainers: map[string]trainer.Trainer{spec.Embedded: fakepolicy.Trainer{Bucket: bucket, Step: train}},
		Load:     func(context.Context, string, int) error { return nil },
		Notices: lifecycle.Notices{Start: func(ctx context.Context, n domain.Notice) error {
			_, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
				ID: workflows.NotifyID(n), TaskQueue: workflows.QueueControl,
			}, workflows.Notify, n)

			return err
		}},
	}
	control := deps.Control()

	return map[string]any{
		workflows.QueueControl: control, workflows.QueueCare: control,
		workflows.QueueRollout: deps.Rollouts(), workflows.QueueModel: deps.Models(), workflows.QueueGPU: deps.GPU(),
	}
}

// Places returns the number of concurrent episodes of a worker, unless PlacesEnv sets another one.
const Places = 3

// PlacesEnv is the environment variable with the number of concurrent episodes of a worker.
const PlacesEnv = "COLLABUI_TEST_PLACES"

func places() int {
	n := Places
	_, _ = fmt.Sscan(os.Getenv(PlacesEnv), &n) // unchanged if it is not set

	return n
}

// TrainEnv is the environment variable with the time of an optimiser step; unset means none.
const TrainEnv = "COLLABUI_TEST_TRAIN"

func train(ctx context.Context, _ string) error {
	duration, _ := time.ParseDuration(os.Getenv(TrainEnv)) // 0 if it is not set
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Busy is a workflow that occupies a place of the role control, as an activity that waits for another machine does.
func Busy(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: workflows.QueueCare, StartToCloseTimeout: time.Hour,
	})

	return workflow.ExecuteActivity(ctx, wait).Get(ctx, nil)
}

// wait is the activity of Busy.
func wait(ctx context.Context) error {
	<-ctx.Done()

	return context.Cause(ctx)
}

// RolesEnv is the environment variable with the task queues of a worker, separated by spaces; unset means all.
const RolesEnv = "COLLABUI_TEST_ROLES"

// LatencyEnv is the environment variable with the median time of a step; unset means none.
const LatencyEnv = "COLLABUI_TEST_LATENCY"

func latency() time.Duration {
	duration, _ := time.ParseDuration(os.Getenv(LatencyEnv)) // 0 if it is not set
	return duration
}

// LengthEnv is the environment variable with the number of steps of the scripted tasks; unset is its default.
const LengthEnv = "COLLABUI_TEST_LENGTH"

func length() (n int) {
	_, _ = fmt.Sscan(strings.TrimSpace(os.Getenv(LengthEnv)), &n) // 0 if it is not set
	return n
}

// PutPolicy writes a policy of a few bytes.
func PutPolicy(ctx context.Context, b store.Bucket, name string) (runs.Policy, error) {
	ref, err := store.PutBlob(ctx, b, []byte("policy "+name))

	return runs.Policy{Digest: ref.SHA256, Tensor: ref.SHA256}, err
}
