package health

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
)

func TestTheDoctorFindsAStoreThatOverwrites(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		ok     bool
	}{
		"it takes both": {
			func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `"x"`) },
			"ignores If-None-Match", false,
		},
		"it takes none": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) },
			"refuses a write with If-None-Match: HTTP 501", false,
		},
		"the keys are narrow": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "not tried", true,
		},
		"it answers nonsense": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, "not known", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(c.answer)
			t.Cleanup(srv.Close)
			for name, value := range map[string]string{
				config.EnvS3: srv.URL, config.EnvBucket: "bucket", config.EnvAccess: "a", config.EnvSecret: "b",
				config.EnvTemporal: "h:7233", config.EnvPolicy: "http://h/v1", config.EnvRegion: "us-east-1",
			} {
				t.Setenv(name, value)
			}
			found := StorePromises(t.Context(), (&app.App{Cluster: true}))
			if len(found) != 1 || found[0].OK != c.ok || !strings.Contains(found[0].Detail, c.want) {
				t.Errorf("promises = %+v, want one that contains %q and is all right: %v", found, c.want, c.ok)
			}
		})
	}
}

func TestTheDoctorFindsARedisThatCannotShareLimits(t *testing.T) {
	for name, c := range map[string]struct {
		command, answer string // what one command is answered
		want            string // of the detail; empty: all is well
	}{
		"all is well":          {"NONE", "", ""},
		"the script":           {"EVALSHA", "-CROSSSLOT Keys differ in slots", "limits are not shared: CROSSSLOT"},
		"streams":              {"XADD", "-NOPERM no permission", "no live progress: NOPERM"},
		"a cluster's node":     {"INFO", "redis_mode:cluster\r\n", "write redis+cluster://"},
		"a sentinel":           {"INFO", "redis_mode:sentinel\r\n", "write redis+sentinel://"},
		"a node of Valkey":     {"INFO", "redis_version:7.2.4\r\nserver_mode:cluster\r\n", "write redis+cluster://"},
		"one that says little": {"INFO", "-NOPERM no permission", ""},
	} {
		t.Run(name, func(t *testing.T) {
			mini := miniredis.RunT(t)
			mini.Server().SetPreHook(func(p *server.Peer, command string, _ ...string) bool {
				if !strings.EqualFold(command, c.command) {
					return false
				}
				if text, ok := strings.CutPrefix(c.answer, "-"); ok {
					p.WriteError(text)
				} else {
					p.WriteBulk(c.answer)
				}

				return true
			})
			e := config.Endpoints{Redis: "redis://" + mini.Addr()}
			found := diagnosis{App: &app.App{Cluster: true}}.redis(t.Context(), e)
			if len(found) != 1 || found[0].OK != (c.want == "") || !strings.Contains(found[0].Detail, c.want) {
				t.Errorf("redis = %+v, want one that contains %q", found, c.want)
			}
			if left := mini.Keys(); len(left) > 0 {
				t.Errorf("the doctor leaves %q, want nothing", left)
			}
		})
	}
}

// TestTheDoctorChecksWhatHasAnAddress lacks the addresses of Temporal and the policies on a cluster.
func TestTheDoctorChecksWhatHasAnAddress(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	for name, value := range map[string]string{
		config.EnvS3: srv.URL, config.EnvAccess: "a", config.EnvSecret: "b", config.EnvRegion: "us-east-1",
		config.EnvTemporal: "", config.EnvPolicy: "", config.EnvRedis: "",
	} {
		t.Setenv(name, value)
	}
	found := Services(t.Context(), &app.App{Cluster: true})
	var names []string
	for _, finding := range found {
		names = append(names, finding.What)
	}
	want := []string{"addresses", supervisor.S3, supervisor.Redis}
	if !slices.Equal(names, want) || found[0].OK || strings.Contains(found[0].Fix, "collabui up") ||
		found[0].Detail != "COLLABUI_TEMPORAL, COLLABUI_POLICY: not set" {
		t.Errorf("the doctor found %+v, want findings about %v, the first with both variables", found, want)
	}
}

func TestServicesThatAreStartingAreNoFinding(t *testing.T) {
	state := supervisor.State{PID: 7, Services: map[supervisor.Name]supervisor.Service{
		supervisor.Temporal: {Addr: "127.0.0.1:1"}, supervisor.S3: {},
	}}
	a := &app.App{Data: t.TempDir()}
	starting := append(diagnosis{App: a, state: state}.finding(supervisor.Temporal, "127.0.0.1:1",
		errors.New("connection refused")), supervisorFinding(a, state))
	if len(Problems(starting)) > 0 || !strings.Contains(starting[1].Detail, "still starting; begun are temporal") {
		t.Errorf("while services start the findings are %+v, want no problem, and what has begun", starting)
	}
	if none := (diagnosis{App: a, state: state}).worker(t.Context(), config.Endpoints{}); none != nil {
		t.Errorf("the worker that has not begun has the findings %+v, want none", none)
	}
	state.Problem = "no port is free"
	if finding := supervisorFinding(a, state); finding.OK {
		t.Errorf("a supervisor that failed has the finding %+v, want a problem", finding)
	}
}

func TestTheDoctorNamesLogsOfLocalServicesOnly(t *testing.T) {
	d := diagnosis{App: &app.App{Data: t.TempDir()}}
	log := supervisor.LogPath(d.Data, supervisor.Redis)
	err := os.MkdirAll(filepath.Dir(log), 0o755)
	if err == nil {
		err = os.WriteFile(log, nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[supervisor.Name]bool{supervisor.Redis: true, supervisor.S3: false} {
		found := d.finding(name, "127.0.0.1:1", errors.New("connection refused"))
		if got := found[0].Fix != ""; got != want {
			t.Errorf("%s: to do %q, want advice to read its log: %v", name, found[0].Fix, want)
		}
	}
}
