package workers

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/guard"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/observe/logging"
	"github.com/collabui/collabui/internal/observe/telemetry"
	"github.com/collabui/collabui/internal/payloads"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/workflows"
)

// ClientOptions say how Temporal is reached. Unreadable certificates and keys are an invalid fault.
func ClientOptions(e config.Endpoints, l *slog.Logger) (client.Options, error) {
	o := client.Options{HostPort: e.Temporal, Namespace: e.Namespace, Logger: logging.Temporal(l), Identity: identity()}
	if httpd.IsLoopback(e.Temporal) { // compression only takes time
		o.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	var err error
	if o.Interceptors, err = telemetry.Traced(); err != nil {
		return o, err
	}
	if o.ConnectionOptions.TLS, err = e.TLS(); err != nil {
		return o, err
	}
	if e.TemporalKey != "" {
		key := config.Live(config.EnvTemporalKey, e.TemporalKey)
		o.Credentials = client.NewAPIKeyDynamicCredentials(func(context.Context) (string, error) { return key(), nil })
	}
	codec, err := payloads.New()
	if err != nil {
		return o, err
	}
	codec.Use(&o)
	o.ContextPropagators = []workflow.ContextPropagator{guard.Headers{Converter: codec.Converter()}}

	return o, nil
}

// ClaimOf returns the claim by which a namespace drives a run, without the store. The id of a namespace is another one
// in every Temporal, also in one that replaces another.
func ClaimOf(ctx context.Context, c client.Client, e config.Endpoints, who string) (runs.Claim, error) {
	d, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{
		Namespace: e.Namespace,
	})
	if err != nil {
		return runs.Claim{}, fault.New(fault.Transient, "ask the Temporal at %s for the namespace %s: %w", e.Temporal,
			e.Namespace, err)
	}

	return runs.Claim{
		Namespace: d.NamespaceInfo.GetId(), Name: e.Namespace, Address: e.Temporal, Who: who, At: time.Now().UTC(),
	}, nil
}

// Where returns the address of the store for people.
func Where(e config.Endpoints) string { return e.StoreURL() + "/" + e.Store.Bucket }

// dialTries limits the attempts to reach Temporal, one every half second: services start concurrently.
const dialTries = 60

// Dial connects to Temporal, and waits for it for a while.
func Dial(ctx context.Context, e config.Endpoints, l *slog.Logger) (client.Client, error) {
	o, err := ClientOptions(e, l)
	if err != nil {
		return nil, err
	}

	return dial(ctx, o)
}

// dial is Dial with options of the client.
func dial(ctx context.Context, o client.Options) (client.Client, error) {
	var err error
	for range dialTries {
		var c client.Client
		if c, err = client.DialContext(ctx, o); err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}

	return nil, fault.New(fault.Transient, "no Temporal at %s: %w", o.HostPort, err)
}

// CheckNamespace returns an error that says which search attributes a namespace lacks, and how to create them. A server
// that does not say is trusted: Temporal Cloud keeps this from clients.
func CheckNamespace(ctx context.Context, c client.Client, namespace string) error {
	request := &operatorservice.ListSearchAttributesRequest{Namespace: namespace}
	res, err := c.OperatorService().ListSearchAttributes(ctx, request)
	if err != nil {
		return nil
	}

	missing := ""
	for _, k := range workflows.SearchAttributes {
		if _, ok := res.CustomAttributes[k.GetName()]; !ok {
			missing += fmt.Sprintf(" --name %s --type %s", k.GetName(), k.GetValueType())
		}
	}
	if missing == "" {
		return nil
	}

	return fault.New(fault.Invalid,
		"namespace %q of the Temporal server lacks search attributes; create them with: "+
			"temporal operator search-attribute create --namespace %s%s", namespace, namespace, missing)
}

// identity names this process in the Temporal UI.
func identity() string {
	return fmt.Sprintf("%d@%s", os.Getpid(), activities.Hostname())
}
