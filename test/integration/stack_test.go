//go:build integration

package integration

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/test/kit/composefile"
)

// stack runs the services that deploy/compose starts, started by hand: the same programs with the commands and the
// environment of compose.yaml, as processes of this machine instead of containers.
type stack struct {
	*upgraded
	programs string // folder of the programs that are not ours
	secrets  string
	services map[string]composed
	names    []string            // names and addresses in the network of the containers, each followed by ours
	metrics  map[string][]string // addresses by job of Prometheus
	common   []string            // the environment of all processes
}

// composed is the process of a service in compose.yaml.
type composed struct {
	Command     string            `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
}

// stacked is the run. It has enough epochs for accidents in the first ones, and for another build afterwards.
const stacked = `name: kill
epochs: 12
slots: 64
rounds: 2
finetune: {demonstrations: 80, chunk_steps: 30, max_chunks: 3, stop_low: 0.1}
pairs: {kind: +correction, min_pairs: 8}
train: {batch_size: 4, passes: 3}
evaluation: {val: 10, test_seeds: 3, test_templates: 3, test_apps: 0}
`

// composeServices reads compose.yaml with the values of .env.example, in the profile cpu.
func composeServices(t *testing.T) map[string]composed {
	t.Helper()
	example, err := os.ReadFile("../../deploy/compose/.env.example")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../deploy/compose/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	filled := composefile.Filled(string(raw), composefile.Variables(string(example)))
	var project struct{ Services map[string]composed }
	if err := yaml.Unmarshal([]byte(filled), &project); err != nil {
		t.Fatal(err)
	}

	return project.Services
}

// newStack starts all services except the workers, in the order of compose.yaml, and creates tables, namespace and
// bucket by its scripts.
func newStack(t *testing.T) *stack {
	t.Helper()
	programs := os.Getenv("COLLABUI_STACK")
	if programs == "" {
		t.Skip("set COLLABUI_STACK to a folder with the programs of deploy/compose, or run `make test-stack`")
	}
	x := &stack{
		upgraded: &upgraded{cluster: &cluster{machine: newMachine(t, stacked), hosts: map[string]*host{}}},
		programs: programs, services: composeServices(t), metrics: map[string][]string{},
	}
	x.secrets = x.file("secrets")
	for _, dir := range []string{x.secrets, x.file("targets")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append([]string{"postgres", "s3_access", "s3_secret", "policy", "view", "envs"},
		storeSecrets(x.services["bucket"])...) {
		x.write(filepath.Join("secrets", name), name+"-0123456789")
	}
	x.payloadKeys = payloadKey("one")
	x.write("secrets/payloads", x.payloadKeys)
	at := map[string]string{}
	for _, name := range []string{"temporal:7233", "s3:9000", "redis:6379", "policy:9000"} {
		at[name] = freeAddr(t)
		x.names = append(x.names, name, at[name])
	}
	x.names = append(x.names, "/run/secrets", x.secrets)
	t.Cleanup(x.down)

	postgres := x.postgres()
	x.script("schema.sh", "../../deploy/compose/schema.sh", x.environment("schema", "SQL_HOST=127.0.0.1",
		"SQL_PORT="+port(postgres)), "/etc/temporal/schema", filepath.Join(programs, "schema"))
	x.temporal = at["temporal:7233"]
	x.up("temporal", x.foreign("temporal", x.temporalEnv(postgres), "server", "start"))
	x.script("namespace.sh", "../../deploy/helm/collabui/files/namespace.sh", x.environment("namespace"))
	x.up("s3", x.foreign("s3", x.environment("s3"), "minio",
		"server", x.file("objects"), "--address", at["s3:9000"]))
	x.measured("s3", at["s3:9000"])
	x.answers("s3", "http://"+at["s3:9000"]+"/minio/health/ready")
	x.script("bucket.sh", "../../deploy/helm/collabui/files/bucket.sh", x.environment("bucket"))
	x.up("redis", x.foreign("redis", nil, "redis-server", append(strings.Fields(x.services["redis"].Command)[1:],
		"--bind", "127.0.0.1", "--port", port(at["redis:6379"]))...))

	x.common = slices.Clone(x.env)
	x.env = append(x.env, x.environment("cli")...)
	x.up("policy", x.as("policy", x.starts(binary("collabui"), "worker", "--roles", "policy-server",
		"--listen", at["policy:9000"])))
	x.measured("policies", at["policy:9000"])

	return x
}

// storeSecrets returns the secrets of the accounts that a service creates at the store.
func storeSecrets(bucket composed) (names []string) {
	for _, role := range strings.Fields(bucket.Environment["ROLES"]) {
		names = append(names, "s3_"+role)
	}

	return names
}

// as returns a function that starts a process with the environment of a service, and without the environment of the
// command line.
func (x *stack) as(service string, start func() *exec.Cmd) func() *exec.Cmd {
	return func() *exec.Cmd {
		all := x.env
		x.env = append(slices.Clip(x.common), x.environment(service)...)
		defer func() { x.env = all }()

		return start()
	}
}

func port(addr string) string { _, p, _ := net.SplitHostPort(addr); return p }

// environment returns the environment of a service with our addresses. Variables in more have precedence.
func (x *stack) environment(service string, more ...string) []string {
	ours := strings.NewReplacer(x.names...)
	var env []string
	for name, value := range x.services[service].Environment {
		env = append(env, name+"="+ours.Replace(value))
	}
	slices.Sort(env)

	return append(env, more...)
}

// temporalEnv returns the environment of the Temporal server: its service's, with ports of its own.
func (x *stack) temporalEnv(postgres string) []string {
	metrics := freeAddr(x.t)
	x.measured("temporal", metrics)
	env := x.environment("temporal", "POSTGRES_SEEDS=127.0.0.1", "DB_PORT="+port(postgres), "BIND_ON_IP=127.0.0.1",
		"POSTGRES_PWD=postgres-0123456789", "PROMETHEUS_ENDPOINT="+metrics, "FRONTEND_GRPC_PORT="+port(x.temporal),
		"DYNAMIC_CONFIG_FILE_PATH="+absolute(x.t, "../../deploy/compose/temporal.yaml"))
	for _, name := range []string{
		"FRONTEND_HTTP", "FRONTEND_MEMBERSHIP", "MATCHING_GRPC", "MATCHING_MEMBERSHIP", "HISTORY_GRPC",
		"HISTORY_MEMBERSHIP", "WORKER_GRPC", "WORKER_MEMBERSHIP",
	} {
		env = append(env, name+"_PORT="+port(freeAddr(x.t)))
	}

	return env
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}

	return p
}

// foreign returns a function that starts a program that is not ours.
func (x *stack) foreign(log string, env []string, program string, args ...string) func() *exec.Cmd {
	path := filepath.Join(x.programs, program)
	if _, err := os.Stat(path); err != nil {
		path = program // of the system
	}

	return func() *exec.Cmd { return x.launch(log, exec.Command(path, args...), env) }
}

// launch starts a command in a process group of its own, with a log of its own.
func (x *stack) launch(log string, cmd *exec.Cmd, env []string) *exec.Cmd {
	x.t.Helper()
	out, err := os.OpenFile(x.file(log+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		x.t.Fatal(err)
	}
	defer out.Close()
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}

	return cmd
}

// up starts a host with one process.
func (x *stack) up(name string, start func() *exec.Cmd) {
	x.add(name, start)
	x.hosts[name].up()
}

// script runs a script of deploy/ unchanged, except that folders of its container are replaced. pairs contains further
// texts and their replacements.
func (x *stack) script(name, path string, env []string, pairs ...string) {
	x.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		x.t.Fatal(err)
	}
	pairs = append(pairs, "/run/secrets", x.secrets, "/tmp/mc", x.file("mc"),
		"/policies", absolute(x.t, "../../deploy/policies"))
	text := strings.NewReplacer(pairs...).Replace(string(raw))
	bin := x.file("scripts")
	_ = os.MkdirAll(bin, 0o755)
	_ = os.Symlink(filepath.Join(x.programs, "sql"), filepath.Join(bin, "temporal-sql-tool")) // unless it exists
	cmd := exec.Command("sh", x.write(name, text))
	cmd.Env = append(append(os.Environ(), env...), "HOME="+x.file(""),
		"PATH="+bin+":"+x.programs+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		x.t.Fatalf("%s: %v, want success\n%s", name, err, out)
	}
}

// nobody is the account of PostgreSQL, which refuses to be root.
const nobody = 65534

// postgres makes and starts a PostgreSQL server with the account and the password of compose.yaml.
func (x *stack) postgres() (addr string) {
	t := x.t
	t.Helper()
	addr = freeAddr(t)
	dir, err := os.MkdirTemp("", "postgres") // the account cannot enter the folders of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	own := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		own.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	bin, err := filepath.EvalSymlinks(filepath.Join(x.programs, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("postgres-0123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U",
		x.services["postgres"].Environment["POSTGRES_USER"], "--pwfile", password, "-A", "scram-sha-256", "-E", "UTF8")
	initdb.Dir, initdb.SysProcAttr = dir, own
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v, want success\n%s", err, out)
	}
	x.up("postgres", func() *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-h", "127.0.0.1", "-p", port(addr), "-k", dir)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: own.Credential}

		return x.launch("postgres", cmd, nil)
	})
	x.eventually("PostgreSQL listens", time.Minute, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}

		return err == nil
	})

	return addr
}

// answers waits until a process reports that it is ready.
func (x *stack) answers(what, url string) {
	x.t.Helper()
	x.eventually(what+" is ready", 2*time.Minute, func() bool {
		r, err := http.Get(url)
		if err != nil {
			return false
		}
		_ = r.Body.Close()

		return r.StatusCode == http.StatusOK
	})
}

// workers starts the worker of a service as a host of its own, of a build, and waits until it is ready.
func (x *stack) workers(host, service, program, build string) {
	x.t.Helper()
	health := freeAddr(x.t)
	args := strings.Fields(strings.NewReplacer("0.0.0.0:9090", health, "/work", x.file(host)).Replace(
		x.services[service].Command))
	if service == "rollout" {
		args = append(args, "--tabs", "2") // there is one machine, not four
	}
	x.measured("collabui", health)
	x.up(host, x.as(service, x.starts(program, append(args, "--build", build)...)))
	x.answers(host, "http://"+health+"/ready")
}
