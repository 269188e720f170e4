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

// The variables that OpenTelemetry defines for where traces go; without them there are none. The exporter reads these
// and its others, such as OTEL_SERVICE_NAME, by itself.
const (
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
)

// flushLimit is how long a process waits at its end for its last spans to be sent.
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

// Traced returns what makes a client of Temporal, and its workers, send traces: spans of commands, workflows and
// activities. It is empty if the environment names no place for them. A wrong environment is an invalid fault.
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

// Flush sends the last spans of this process, within a few seconds.
func Flush() {
	tracerProvider, _ := provider()
	if tracerProvider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	_ = tracerProvider.ForceFlush(ctx) // traces are for people: nothing depends on them
}
