package supervisor

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// healthLimit is the time within which a service must answer a health check. Every check is a request that the process
// itself must answer, because the kernel accepts connections even for a process that hangs.
const healthLimit = 3 * time.Second

// HTTPHealth returns a health check: a GET that must be answered with 200.
func HTTPHealth(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		status, err := get(ctx, url)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s answers %d", url, status)
		}

		return err
	}
}

// s3Health requests the list of buckets without a signature. Any answer of the server shows that it works.
func s3Health(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := get(ctx, "http://"+addr+"/")

		return err
	}
}

// get makes a request on a connection of its own and returns the status of the answer.
func get(ctx context.Context, url string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	_ = res.Body.Close()

	return res.StatusCode, nil
}

// redisHealth sends PING, for which a server needs no database.
func redisHealth(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, healthLimit)
		defer cancel()
		client := redis.NewClient(&redis.Options{
			Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: healthLimit, ReadTimeout: healthLimit,
		})
		defer func() { _ = client.Close() }()

		return client.Ping(ctx).Err()
	}
}

// temporalHealth queries the health of Temporal's frontend.
func temporalHealth(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, healthLimit)
		defer cancel()
		clientConn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer func() { _ = clientConn.Close() }()
		res, err := grpc_health_v1.NewHealthClient(clientConn).Check(ctx, &grpc_health_v1.HealthCheckRequest{
			Service: "temporal.api.workflowservice.v1.WorkflowService",
		})
		if err == nil && res.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			err = fmt.Errorf("temporal at %s is %s", addr, res.Status)
		}

		return err
	}
}
