package supervisor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
)

// unit is one supervised process.
type unit struct {
	name   string
	stage  int
	addr   string // as clients use it
	path   string
	args   []string
	env    []string
	health func(ctx context.Context) error
}

const numPorts = 5 // temporal, ui, s3, redis, policy

// freePorts chooses ports below the range from which clients get theirs: a reconnecting client could take an ephemeral one while its service restarts.
func freePorts(n int) ([]int, error) {
	var out []int
	for range 2000 {
		p := 12000 + rand.IntN(18000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // held until all are drawn, so that none comes twice
		if out = append(out, p); len(out) == n {
			return out, nil
		}
	}
	return nil, fault.New(fault.Transient, "no free ports between 12000 and 30000 on 127.0.0.1")
}

// free waits until all ports can be listened on: processes of a supervisor that was killed may take a moment to end.
func free(ports []int, limit time.Duration) bool {
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		taken := false
		for _, p := range ports {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
			if err != nil {
				taken = true
				break
			}
			_ = l.Close()
		}
		if !taken || time.Now().After(end) {
			return !taken
		}
	}
}

// plan decides what is started here and what was given from outside.
func (s *Supervisor) plan(sec secrets) ([]unit, error) {
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", sec.Ports[i]) }
	x := s.o.External
	local, err := program("collabui-local")
	if err != nil && (x.Temporal == "" || x.Store.Endpoint == "" || x.Redis == "") {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	s.ends = x
	keys := []string{"COLLABUI_S3_ACCESS_KEY=" + sec.Access, "COLLABUI_S3_SECRET_KEY=" + sec.Secret}
	dir := filepath.Join(s.o.Data, "services")
	var units []unit
	add := func(given string, u unit) string {
		if given != "" {
			s.state.Services[u.name] = Service{Addr: config.Redacted(given), External: true}
			return given
		}
		units = append(units, u)
		return u.addr
	}
	s.ends.Temporal = add(x.Temporal, unit{name: "temporal", addr: at(0), path: local, health: dials(at(0)),
		args: []string{"temporal", "--dir", dir, "--addr", at(0), "--ui-addr", at(1), "--namespace", x.Namespace, "--parent-pipe"}})
	if x.Temporal == "" {
		s.ends.UI, s.ends.TemporalKey, s.ends.TemporalTLS = "http://"+at(1), "", config.TLS{}
	}
	s.state.UI = s.ends.UI
	if x.Store.Endpoint == "" {
		s.ends.SetStore(at(2))
		s.ends.Store.Access, s.ends.Store.Secret = sec.Access, sec.Secret
	}
	add(x.StoreURL(), unit{name: "s3", addr: at(2), path: local, env: keys, health: dials(at(2)), args: []string{"s3", "--dir", dir, "--addr", at(2), "--bucket", x.Store.Bucket, "--parent-pipe"}})
	s.ends.Redis = add(x.Redis, unit{name: "redis", addr: "redis://" + at(3), path: local, health: dials(at(3)), args: []string{"redis", "--addr", at(3), "--parent-pipe"}})
	s.ends.Policy = add(x.Policy, unit{name: "policy", stage: 1, addr: "http://" + at(4) + "/v1", path: self, health: answers("http://" + at(4) + "/health"),
		args: []string{"policy-server", "--addr", at(4), "--parent-pipe"}})
	units = append(units, unit{name: "worker", stage: 1, path: self, args: []string{"worker", "--parent-pipe", "--tabs", fmt.Sprint(s.o.Tabs)}, health: func(context.Context) error { return nil }})
	return units, nil
}

func dials(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
}

func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, res.Status)
		}
		return nil
	}
}
