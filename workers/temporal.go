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

// ClientOptions returns how Temporal is reached. Unreadable certificates and keys are an invalid fault.
func ClientOptions(endpoints config.Endpoints, l *slog.Logger) (client.Options, error) {
	options := client.Options{
		HostPort: endpoints.Temporal, Namespace: endpoints.Namespace, Logger: logging.Temporal(l), Identity: identity(),
	}
	if httpd.IsLoopback(endpoints.Temporal) { // compression only takes time
		options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	var err error
	if options.Interceptors, err = telemetry.Traced(); err != nil {
		return options, err
	}
	if options.ConnectionOptions.TLS, err = endpoints.TLS(); err != nil {
		return options, err
	}
	if endpoints.TemporalKey != "" {
		key := config.Live(config.EnvTemporalKey, endpoints.TemporalKey)
		read := func(context.Context) (string, error) { return key(), nil }
		options.Credentials = client.NewAPIKeyDynamicCredentials(read)
	}
	codec, err := payloads.New()
	if err != nil {
		return options, err
	}
	codec.Use(&options)
	options.ContextPropagators = []workflow.ContextPropagator{guard.Headers{Converter: codec.Converter()}}

	return options, nil
}

// ClaimOf returns the claim by which a namespace drives a run, without the store. The id of a namespace is another one
// in every Temporal, also in one that replaces another.
func ClaimOf(ctx context.Context, temporal client.Client, endpoints config.Endpoints, who string) (runs.Claim, error) {
	response, err := temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{
		Namespace: endpoints.Namespace,
	})
	if err != nil {
		return runs.Claim{}, fault.New(fault.Transient, "ask the Temporal at %s for the namespace %s: %w",
			endpoints.Temporal, endpoints.Namespace, err)
	}

	return runs.Claim{
		Namespace: response.NamespaceInfo.GetId(), Name: endpoints.Namespace, Address: endpoints.Temporal, Who: who,
		At: time.Now().UTC(),
	}, nil
}

// Where returns the address of the store for people.
func Where(endpoints config.Endpoints) string {
	return endpoints.StoreURL() + "/" + endpoints.Store.Bucket
}

// dialTries limits the attempts to reach Temporal, one every half second: services start concurrently.
const dialTries = 60

// Dial connects to Temporal, and waits for it for a while.
func Dial(ctx context.Context, endpoints config.Endpoints, logger *slog.Logger) (client.Client, error) {
	options, err := ClientOptions(endpoints, logger)
	if err != nil {
		return nil, err
	}

	return dial(ctx, options)
}

// dial is Dial with options of the client.
func dial(ctx context.Context, options client.Options) (client.Client, error) {
	var err error
	for range dialTries {
		var temporal client.Client
		if temporal, err = client.DialContext(ctx, options); err == nil {
			return temporal, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}

	return nil, fault.New(fault.Transient, "no Temporal at %s: %w", options.HostPort, err)
}

// CheckNamespace returns an error that names the search attributes that a namespace lacks, and how to create them. A
// server that does not list them is trusted: Temporal Cloud keeps this from clients.
func CheckNamespace(ctx context.Context, temporal client.Client, namespace string) error {
	request := &operatorservice.ListSearchAttributesRequest{Namespace: namespace}
	res, err := temporal.OperatorService().ListSearchAttributes(ctx, request)
	if err != nil {
		return nil
	}

	missing := ""
	for _, key := range workflows.SearchAttributes {
		if _, ok := res.CustomAttributes[key.GetName()]; !ok {
			missing += fmt.Sprintf(" --name %s --type %s", key.GetName(), key.GetValueType())
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
