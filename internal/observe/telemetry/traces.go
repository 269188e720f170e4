package telemetry

import (
	"context"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"

	"github.com/collabui/collabui/fault"
)

// The variables in which OpenTelemetry specifies where traces are sent. If none is set, no traces are sent. The
// exporter reads these and others, such as OTEL_SERVICE_NAME, by itself.
const (
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
)

// flushLimit is how long a process may take at its end to send its last spans.
const flushLimit = 3 * time.Second

var provider = sync.OnceValues(func() (*trace.TracerProvider, error) {
	if os.Getenv(envEndpoint) == "" && os.Getenv(envTracesEndpoint) == "" {
		return nil, nil
	}
	e, err := otlptracegrpc.New(context.Background())
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s or %s: %w", envEndpoint, envTracesEndpoint, err)
	}
	r, err := resource.New(context.Background(), resource.WithFromEnv(), resource.WithHost())
	if err != nil {
		return nil, fault.New(fault.Invalid, "OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	p := trace.NewTracerProvider(trace.WithBatcher(e), trace.WithResource(r))
	otel.SetTracerProvider(p)

	return p, nil
})

// Traced returns the interceptors that make Temporal clients, and their workers, send traces of commands, workflows and
// activities. It returns none if the environment specifies no destination. A wrong environment is an invalid fault.
func Traced() ([]interceptor.ClientInterceptor, error) {
	p, err := provider()
	if p == nil {
		return nil, err
	}
	i, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{Tracer: p.Tracer("collabui")})
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}

	return []interceptor.ClientInterceptor{i}, nil
}

// Flush sends the last spans of this process, within flushLimit.
func Flush() {
	tracerProvider, _ := provider()
	if tracerProvider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	_ = tracerProvider.ForceFlush(ctx) // traces are for people: nothing depends on them
}
