package deploy

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/test/kit/composefile"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

// service is the part of a service of compose.yaml that the tests check.
type service struct {
	Image       string                       `yaml:"image"`
	Command     any                          `yaml:"command"`
	User        string                       `yaml:"user"`
	ReadOnly    bool                         `yaml:"read_only"`
	CapDrop     []string                     `yaml:"cap_drop"`
	SecurityOpt []string                     `yaml:"security_opt"`
	Restart     string                       `yaml:"restart"`
	Grace       time.Duration                `yaml:"stop_grace_period"`
	Profiles    []string                     `yaml:"profiles"`
	Environment map[string]string            `yaml:"environment"`
	Secrets     []string                     `yaml:"secrets"`
	Volumes     []string                     `yaml:"volumes"`
	Ports       []string                     `yaml:"ports"`
	DependsOn   map[string]map[string]string `yaml:"depends_on"`
	Healthcheck struct {
		Disable bool     `yaml:"disable"`
		Test    []string `yaml:"test"`
	} `yaml:"healthcheck"`
}

// args returns the words of the service's command.
func (s service) args() []string {
	text, _ := s.Command.(string)

	return strings.Fields(text)
}

// oneShot reports whether the service ends by itself.
func (s service) oneShot() bool {
	return s.Restart == "no" || strings.HasPrefix(s.Restart, "on-failure")
}

// ours reports whether the service runs collabui.
func (s service) ours() bool { return strings.HasPrefix(s.Image, "collabui-") && s.Command != nil }

// project is compose.yaml.
type project struct {
	Services map[string]service           `yaml:"services"`
	Volumes  map[string]any               `yaml:"volumes"`
	Networks map[string]any               `yaml:"networks"`
	Secrets  map[string]map[string]string `yaml:"secrets"`
}

// defaults returns the variables of .env.example.
func defaults(t *testing.T) map[string]string {
	t.Helper()

	return composefile.Variables(text(t, "compose/.env.example"))
}

// filled returns compose.yaml with the values of .env.example.
func filled(t *testing.T) string {
	t.Helper()

	return composefile.Filled(text(t, "compose/compose.yaml"), defaults(t))
}

// compose returns the project of compose.yaml.
func compose(t *testing.T) project {
	t.Helper()

	return decoded[project](t, "compose.yaml", filled(t))
}

func TestTheExampleDocumentsEveryVariable(t *testing.T) {
	vars := defaults(t)
	seen := map[string]bool{"COMPOSE_PROFILES": true, "COMPOSE_FILE": true}
	for _, m := range composefile.Variable.FindAllStringSubmatch(text(t, "compose/compose.yaml"), -1) {
		name, kind, value := m[1], m[2], m[3]
		seen[name] = true
		given, exists := vars[name]
		optional := name == "GPU_ARGS" || name == "VLLM_ARGS" // without .env nothing shares a GPU
		if !exists || kind == "-" && value != given && !optional {
			t.Errorf(".env.example has %s=%q, want the default of compose.yaml: %q", name, given, value)
		}
	}
	for name := range vars {
		if !seen[name] {
			t.Errorf(".env.example has %s, want only variables that compose.yaml reads", name)
		}
	}
}

// settings are variables whose names sound like a secret's. An access key is the name of an account.
var settings = map[string]bool{
	"MINIO_PROMETHEUS_AUTH_TYPE": true, "TEMPORAL_CODEC_INCLUDE_CREDENTIALS": true, "COLLABUI_S3_ACCESS_KEY": true,
}

// rootless lists the services that are not confined like the others, with the reason.
var rootless = map[string]string{
	"volumes":  "gives volumes to their users",
	"emulator": "its image is not read-only",
}

func TestServicesAreConfined(t *testing.T) {
	p := compose(t)
	for name, s := range p.Services {
		checkImage(t, name, s.Image)
		if !slices.Contains(s.CapDrop, "ALL") {
			t.Errorf("%s keeps capabilities %v, want none", name, s.CapDrop)
		}
		if _, except := rootless[name]; !except && (!s.ReadOnly || s.User == "" || strings.HasPrefix(s.User, "root")) {
			t.Errorf("%s runs as %q, read-only %v; want another than root, and read-only", name, s.User, s.ReadOnly)
		}
		if name != "volumes" && !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s has %v, want no-new-privileges", name, s.SecurityOpt)
		}
		for _, o := range s.SecurityOpt {
			if file, ok := strings.CutPrefix(o, "seccomp:../"); ok {
				decoded[map[string]any](t, file, text(t, file))
			}
		}
		for v, value := range s.Environment {
			if holdsSecret(v) && value != "" && !settings[v] {
				t.Errorf("%s has %s=%q, want a file", name, v, value)
			}
			if file, ok := strings.CutPrefix(value, "/run/secrets/"); ok && !slices.Contains(s.Secrets, file) {
				t.Errorf("%s reads the secret %s, want it among its secrets %v", name, file, s.Secrets)
			}
		}
		for _, secret := range s.Secrets {
			if got := p.Secrets[secret]["file"]; got != "secrets/"+secret {
				t.Errorf("the secret %s of %s is the file %q, want secrets/%s", secret, name, got, secret)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			_, named := p.Volumes[from]
			_, err := os.Stat(filepath.Join(root, "deploy/compose", from))
			if !named && err != nil && from != defaults(t)["MODELS"] {
				t.Errorf("%s mounts %s, want a volume or a file that exists", name, from)
			}
		}
	}
}

func TestServicesWaitForWhatTheyNeed(t *testing.T) {
	p := compose(t)
	for name, s := range p.Services {
		if !s.oneShot() && len(s.Healthcheck.Test) == 0 && name != "emulator" { // its image has a check
			t.Errorf("%s has no health check, want one", name)
		}
		for on, how := range s.DependsOn {
			other, exists := p.Services[on]
			condition := "service_healthy"
			if other.oneShot() {
				condition = "service_completed_successfully"
			}
			if !exists || how["condition"] != condition {
				t.Errorf("%s depends on %s with %s, want a service with %s", name, on, how["condition"], condition)
			}
			for _, profile := range other.Profiles {
				if !slices.Contains(s.Profiles, profile) {
					t.Errorf("%s depends on %s, which is of the profile %s, want it there, too", name, on, profile)
				}
			}
		}
	}
}

func TestCommandsOfServicesExist(t *testing.T) {
	var roles []string
	p := compose(t)
	for name, s := range p.Services {
		if !s.ours() {
			continue
		}
		args := s.args()
		checkCommand(t, name, args)
		roles = append(roles, strings.Split(after(args, "--roles"), ",")...)
		if d, _ := time.ParseDuration(after(args, "--drain")); d > 0 && s.Grace < d+10*time.Second {
			t.Errorf("%s is killed after %v, want 10 s more than it drains: %v", name, s.Grace, d)
		}
		if after(args, "--roles") == workflows.QueueGPU && s.Grace < time.Minute {
			t.Errorf("%s is killed after %v, want a minute: training gets 45 s to store its checkpoint", name, s.Grace)
		}
		if check := s.Healthcheck; !check.Disable {
			url := check.Test[len(check.Test)-1]
			if !slices.Contains(listens(args), port(url)) {
				t.Errorf("the check of %s asks %s, want one of its ports %v", name, url, listens(args))
			}
		}
	}
	slices.Sort(roles)
	for _, r := range append(slices.Clone(workers.Roles), workers.Servers...) {
		if !slices.Contains(roles, r) {
			t.Errorf("the roles of all services are %v, want %s among them", roles, r)
		}
	}
}

// listens returns the ports at which collabui listens.
func listens(args []string) []string {
	var all []string
	for _, f := range []string{"--health", "--listen"} {
		if v := after(args, f); v != "" {
			all = append(all, port(v))
		}
	}

	return all
}

// foreignPorts are the ports of other programs.
var foreignPorts = map[string][]string{
	"temporal": {"7233", "9091"}, "s3": {"9000"}, "redis": {"6379"}, "vllm": {"8000"}, "prometheus": {"9090"},
	"emulator": {"8000"},
}

var address = regexp.MustCompile(`^(?:[a-z]+://)?([a-z][a-z0-9-]*):(\d+)`)

func TestPortsBelongToServices(t *testing.T) {
	p := compose(t)
	check := func(where, host, port string) {
		t.Helper()
		ports := foreignPorts[host]
		if s := p.Services[host]; s.ours() {
			ports = listens(s.args())
		}
		if !slices.Contains(ports, port) {
			t.Errorf("%s names %s:%s, want a service and one of its ports %v", where, host, port, ports)
		}
	}
	for name, s := range p.Services {
		for _, where := range append(slices.Collect(maps.Values(s.Environment)), s.args()...) {
			if m := address.FindStringSubmatch(where); m != nil {
				check(name, m[1], m[2])
			}
		}
	}
	if vars := defaults(t); !strings.Contains(vars["COMPOSE_PROFILES"], p.Services["policy"].Profiles[0]) {
		t.Errorf("the default profile is %s, want that of the service policy", vars["COMPOSE_PROFILES"])
	}

	type target struct {
		Scrapes []struct {
			SD []struct {
				Names []string `yaml:"names"`
				Port  string   `yaml:"port"`
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	requested := map[string]bool{}
	for _, s := range decoded[target](t, "prometheus.yml", text(t, "compose/prometheus.yml")).Scrapes {
		for _, d := range s.SD {
			for _, host := range d.Names {
				check("prometheus.yml", host, d.Port)
				requested[host] = true
			}
		}
	}
	for name, s := range p.Services {
		if s.ours() && !s.Healthcheck.Disable && name != "viewer" && name != "codec" && !requested[name] {
			t.Errorf("prometheus.yml does not ask %s, want its metrics", name)
		}
	}
}

var created = regexp.MustCompile(`--name (\w+) --type (\w+)`)

func TestTheScriptCreatesTheSearchAttributes(t *testing.T) {
	var got, want []string
	for _, m := range created.FindAllStringSubmatch(text(t, "helm/collabui/files/namespace.sh"), -1) {
		got = append(got, m[1]+" "+m[2])
	}
	for _, k := range workflows.SearchAttributes {
		want = append(want, fmt.Sprint(k.GetName(), " ", k.GetValueType()))
	}
	if !slices.Equal(got, want) {
		t.Errorf("namespace.sh creates %v, want %v", got, want)
	}
}

func TestScriptsAreShell(t *testing.T) {
	for name := range files(t) {
		if filepath.Ext(name) == ".sh" {
			if out, err := exec.Command("sh", "-n", filepath.Join(root, "deploy", name)).CombinedOutput(); err != nil {
				t.Errorf("%s: %v %s, want a shell script", name, err, out)
			}
		}
	}
}
