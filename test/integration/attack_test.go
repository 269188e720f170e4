//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/envadapters/browser"
)

// attack counts the attempts of an attacker, and lists its successes.
type attack struct {
	tried int
	got   []string
}

// try counts an attempt. got describes its success, and is empty if the attempt failed.
func (a *attack) try(got string) {
	a.tried++
	if got != "" {
		a.got = append(a.got, got)
	}
}

// secret is the key that only its endpoint may see.
const secret = "canary-of-the-attack-91d4"

// TestAttack plays a hostile page, environment server, model server, specification and account of the machine against a
// running training, and prints the attempts and successes of each.
func TestAttack(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification)
	m.env = append(m.env, "ATTACK_API_KEY="+secret, "COLLABUI_ENVS_KEY="+secret)
	m.must("train", m.spec, "--detach")
	m.rollsOut("0001", 5, 3*time.Minute)
	inside := newTrap(t)
	targets := []string{inside.address, "169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal"}
	for at := range m.listeners() {
		targets = append(targets, at)
	}

	for _, x := range []struct {
		name string
		play func(*machine, []string) attack
	}{
		{"page", pageAttacks},
		{"environment server", environmentAttacks},
		{"model server", modelAttacks},
		{"specification", specificationAttacks},
		{"account of the machine", accountAttacks},
	} {
		t.Run(x.name, func(t *testing.T) {
			result := x.play(m, targets)
			t.Logf("%-24s tried %4d, got %d", x.name, result.tried, len(result.got))
			for _, got := range result.got {
				t.Errorf("the %s got %s, want nothing", x.name, got)
			}
			if result.tried == 0 {
				t.Skip("not possible here")
			}
		})
	}

	if got := inside.all(); len(got) > 0 {
		t.Errorf("a service that nobody may reach got %v, want nothing", got)
	}
	m.hides(secret)
	m.finish()
	m.must("down")
}

// hides checks that a secret is in no history, and in no file of the machine except the file of its own secrets.
func (m *machine) hides(secret string) {
	m.t.Helper()
	looked := 0
	look := func(where string, raw []byte) {
		looked++
		if strings.Contains(string(raw), secret) {
			m.t.Errorf("%s contains the secret, want it nowhere", where)
		}
	}
	m.eachFile(look)
	m.eachHistory(look)
	m.t.Logf("looked for the key in %d files and histories", looked)
}

// trap is a service of this machine that is not meant for anyone.
type trap struct {
	address string
	mu      sync.Mutex
	got     []string
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	x := &trap{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.got = append(x.got, fmt.Sprint(r.Method, " ", r.URL, " ", r.UserAgent()))
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	t.Cleanup(srv.Close)
	x.address = srv.Listener.Addr().String()

	return x
}

func (x *trap) all() []string {
	x.mu.Lock()
	defer x.mu.Unlock()

	return slices.Clone(x.got)
}

// reach is a script that requests addresses in all ways that show an answer, and stores in got which of them worked.
const reach = `(async () => {
	window.got = []
	const limit = p => Promise.race([p, new Promise((_, no) => setTimeout(no, 700))])
	const ways = {
		fetch: a => fetch('http://' + a + '/', {mode: 'no-cors'}),
		post: a => fetch('http://' + a + '/', {mode: 'no-cors', method: 'POST', body: '{}'}),
		script: a => new Promise((ok, no) => document.head.append(Object.assign(document.createElement('script'),
			{src: 'http://' + a + '/', onload: ok, onerror: no}))),
		websocket: a => new Promise((ok, no) => Object.assign(new WebSocket('ws://' + a + '/'),
			{onopen: ok, onerror: no})),
		events: a => new Promise((ok, no) => Object.assign(new EventSource('http://' + a + '/'),
			{onopen: ok, onerror: no})),
	}
	for (const a of ADDRESSES) {
		await Promise.all(Object.entries(ways).map(async ([name, way]) => {
			try { await limit(way(a)); window.got.push(name + ' of ' + a) } catch {}
		}))
	}
	window.done = true
})(); 0`

// pageAttacks opens a hostile page as environments open theirs.
func pageAttacks(m *machine, targets []string) (result attack) {
	ctx := m.t.Context()
	server, base, err := browser.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>hostile</title>")
	}))
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	pool := browser.NewPool(base, 1, 1)
	defer pool.Close()
	e, err := pool.Episode(ctx, "window")
	if err != nil {
		m.t.Fatal(err)
	}
	defer e.Close(ctx)
	err = e.Prepare(func(b *browser.Browser) (*browser.Tab, error) {
		return b.Blank(ctx, browser.View{Width: 100, Height: 100})
	})
	if err != nil {
		m.t.Fatal(err)
	}

	tab, own := e.Tab(), strings.TrimPrefix(base, "http://")
	m.eventually("the page reaches its own server, or this test shows nothing", time.Minute, func() bool {
		return len(reached(m, tab, base, own)) > 0 // a loaded machine takes longer than a try waits
	})
	for _, at := range targets {
		result.tried += 4 // in addition to the one that try counts
		result.try(strings.Join(reached(m, tab, base, at), ", "))

		var shown string
		_ = tab.Navigate(ctx, "http://"+at+"/") // for a page that cannot be shown, the browser shows its own
		err := tab.Eval(ctx, "document.URL", &shown)
		if err != nil || strings.HasPrefix(shown, "chrome-error:") || !strings.Contains(shown, at) {
			shown = ""
		}
		result.try(shown)
	}

	return result
}

// reached opens the page and returns the ways in which it gets an answer from an address.
func reached(m *machine, tab *browser.Tab, base, address string) (got []string) {
	ctx := m.t.Context()
	if err := tab.Navigate(ctx, base); err != nil {
		m.t.Fatal(err)
	}
	list, _ := json.Marshal([]string{address})
	err := tab.Running(ctx, func() error {
		err := tab.Eval(ctx, strings.Replace(reach, "ADDRESSES", string(list), 1), nil)
		for done := false; err == nil && !done; time.Sleep(20 * time.Millisecond) {
			err = tab.Eval(ctx, "window.done === true", &done)
		}

		return err
	})
	if err == nil {
		err = tab.Eval(ctx, "window.got", &got)
	}
	if err != nil {
		m.t.Fatal(err)
	}

	return got
}

// environmentAttacks checks environments on a server that redirects, floods, and writes to the terminal. The key of
// environments is not meant for this server.
func environmentAttacks(m *machine, targets []string) (result attack) {
	var mu sync.Mutex
	var to string
	keys := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(fmt.Sprint(r.Header), secret) {
			keys++
		}
		switch to {
		case "flood":
			flood(w, r)
		case "escape":
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "\x1b]52;c;aGk=\x07\x1b[2J")
		default:
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	defer srv.Close()

	address := "ws" + strings.TrimPrefix(srv.URL, "http") + "/ws"
	for _, how := range append([]string{"flood", "escape"}, redirects(targets)...) {
		mu.Lock()
		to = how
		mu.Unlock()
		result.try(m.harmless(time.Minute, "", "envs", "check", address))
	}
	if result.tried++; keys > 0 {
		result.got = append(result.got, "the key of environments")
	}

	return result
}

// redirects returns the addresses to which a server may redirect a client.
func redirects(targets []string) (out []string) {
	for _, at := range targets {
		out = append(out, "http://"+at+"/latest/meta-data/", "ws://"+at+"/")
	}

	return out
}

// flood writes until the client disconnects.
func flood(w http.ResponseWriter, r *http.Request) {
	part := []byte(strings.Repeat("x", 1<<20))
	for r.Context().Err() == nil {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// harmless runs a command that must fail with a text in time, without the secret, a control character or much memory.
// It describes what is wrong, or returns "".
func (m *machine) harmless(limit time.Duration, want string, args ...string) string {
	ctx, cancel := context.WithTimeout(m.t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary("collabui"), append(args, "--data", m.data)...)
	cmd.Env = append(os.Environ(), m.env...)
	out, err := cmd.CombinedOutput()
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("%s of a command", limit)
	case err == nil:
		return fmt.Sprintf("success of %v: %s", args, out)
	case !strings.Contains(string(out), want):
		return fmt.Sprintf("another error than %q: %s", want, out)
	case strings.Contains(string(out), secret):
		return "its key in what a command prints"
	case strings.ContainsFunc(string(out), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }):
		return fmt.Sprintf("control characters in what a command prints: %q", out)
	case usage != nil && usage.Maxrss > 1<<20: // in KiB
		return fmt.Sprintf("%d MiB of memory", usage.Maxrss>>10)
	}

	return ""
}

// modelAttacks starts runs whose critic is a server that redirects, floods, writes to the terminal and reveals the key
// that it received.
func modelAttacks(m *machine, targets []string) (result attack) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Authorization")
		switch how := strings.Split(r.URL.Path, "/")[1]; how {
		case "flood":
			flood(w, r)
		case "echo":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s \u001b]52;c;aGk=\u0007"}}`, key)
		case "answer": // a status of success, and the key where the answer belongs
			_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"content":"%s\u001b[2J"}}]}`, key)
		case "status":
			w.WriteHeader(http.StatusOK)
			_, _ = fmt.Fprintf(w, `{"error":{"code":402,"message":"%s"}}`, key)
		case "page":
			w.WriteHeader(http.StatusBadGateway)
			_, _ = fmt.Fprintf(w, "<html><title>%s</title>\x1b[2J", key)
		default:
			http.Redirect(w, r, "http://"+targets[len(how)]+"/?"+key, http.StatusTemporaryRedirect)
		}
	}))
	defer srv.Close()

	how := []string{"flood", "echo", "answer", "status", "page"}
	for i := range targets {
		how = append(how, strings.Repeat("r", i))
	}
	for _, h := range how {
		result.try(m.harmless(2*time.Minute, "models.judge", "train", m.write("model.yaml", fmt.Sprintf(`name: model
critic: {model: judge}
models: {judge: {base_url: %q, model: m, key: ATTACK_API_KEY, timeout: 20}}
`, srv.URL+"/"+h+"/v1")), "--detach"))
	}

	return result
}

// specificationAttacks starts runs that demand more than they may have.
func specificationAttacks(m *machine, _ []string) (result attack) {
	judge := func(keys string) string {
		return "critic: {model: judge}\nmodels: {judge: {model: m, " + keys + "}}"
	}
	at := func(base string) string { return judge(fmt.Sprintf("base_url: %q", base)) }
	local := "base_url: 'http://127.0.0.1:1/v1', "
	code := "trainer: {name: llamafactory, options: {model: /m, template: qwen, extra: {trust_remote_code: 'true'}}}"
	endless := "prompts:\n  critic: |\n    {{/* version 1 */ -}}\n    {{define \"system\"}}s{{end}}" +
		"{{define \"user\"}}{{range 1000000000000}}x{{end}}{{end}}"
	for text, want := range map[string]string{
		"name: ../../etc":      "name: ",
		"slots: 1000000000000": "slots: expected a whole number",
		"line: [\x1b]52":       "U+001B is not allowed",
		endless:                "prompts.critic: ",
		code:                   "trust_remote_code",
		judge(local + "key: COLLABUI_S3_SECRET_KEY"):                  "other than COLLABUI_*",
		judge(local + "key: HOME"):                                    "HOME",
		judge("base_url: 'http://192.0.2.1/v1', key: ATTACK_API_KEY"): "https",
		judge(local + "headers: {x-api-key: plain}"):                  "expected $NAME",
		at("http://user:password@127.0.0.1/v1"):                       "no password",
		at("file:///etc/passwd"):                                      "http or https",
		at("http://2852039166/v1"):                                    "an address such as",
		at("http://[::ffff:169.254.169.254]/v1"):                      "never connects",
		at("http://169.254.169.254/v1"):                               "never connects",
		at("http://metadata.google.internal/v1"):                      "never connects",
		at("http://100.100.100.200/v1"):                               "never connects",
	} {
		if !strings.HasPrefix(text, "name:") {
			text = "name: hostile\n" + text
		}
		result.try(m.harmless(2*time.Minute, want, "train", m.write("hostile.yaml", text+"\n"), "--detach"))
	}

	return result
}

// accountAttacks tries to read and write the files of commands and services as another account of the machine.
func accountAttacks(m *machine, _ []string) (result attack) {
	if os.Getuid() != 0 {
		return result // only root can become another account
	}
	report := m.file("report")
	m.must("report", "kill", "--out", report)
	for _, folder := range []string{m.data, report, os.TempDir()} {
		for _, can := range []string{"-readable", "-writable"} {
			// #nosec G204 -- the arguments are this test's own
			find := exec.CommandContext(m.t.Context(), "find", folder, "-xdev", "-type", "f", can, "-newer", m.spec)
			find.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			out, _ := find.Output() // it fails where it has no access
			result.tried++
			for _, file := range strings.Fields(string(out)) {
				if strings.HasPrefix(file, m.data) || strings.HasPrefix(file, report) {
					result.got = append(result.got, can+" "+file)
				}
			}
		}
	}

	return result
}
