//go:build integration

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/envadapters/webtasks"
)

// tasks of the comparison: taps only, because WebDriver's actions for them are the official client's.
var tapped = []string{"tap-button", "tap-link", "check-boxes", "choose-tab", "choose-radio", "drop-down", "settings-switch", "contacts-call"}

// episodesPerSide is how many episodes each side plays per measurement.
const episodesPerSide = 32

func task(i int) domain.Task {
	return domain.Task{Template: tapped[i%len(tapped)], Split: domain.SplitTrain, Seed: uint64(i) + 1, MaxSteps: 20}
}

// ours plays episodes by the environment and gives steps per second, resets included.
func ours(b *testing.B, env envadapters.Environment, shots bool) float64 {
	steps := 0
	t := time.Now()
	for i := range episodesPerSide {
		tr, err := env.Reset(b.Context(), task(i))
		for err == nil && !tr.Terminated && !tr.Truncated {
			if shots {
				if _, err = env.(envadapters.Screenshotter).Screenshot(b.Context()); err != nil {
					break
				}
			}
			right := env.(envadapters.Judge).Right()
			if right[0].Type == domain.ActionStatus { // the other side does not say so either
				break
			}
			tr, err = env.Step(b.Context(), right[0])
			steps++
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return float64(steps) / time.Since(t).Seconds()
}

// driver is a WebDriver session.
type driver struct {
	b    *testing.B
	base string
}

func (d *driver) call(method, path string, body any) json.RawMessage {
	raw, _ := json.Marshal(body)
	if method != http.MethodPost {
		raw = nil
	}
	req, err := http.NewRequest(method, d.base+path, bytes.NewReader(raw))
	if err != nil {
		d.b.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.b.Fatal(err)
	}
	defer res.Body.Close()
	out, _ := io.ReadAll(res.Body)
	var v struct {
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(out, &v) != nil || res.StatusCode != http.StatusOK {
		d.b.Fatalf("%s %s: %s %s", method, path, res.Status, out)
	}
	return v.Value
}

func (d *driver) js(script string) json.RawMessage {
	return d.call(http.MethodPost, "/execute/sync", map[string]any{"script": "return " + script, "args": []any{}})
}

func (d *driver) click(x, y int) {
	d.call(http.MethodPost, "/actions", map[string]any{"actions": []any{map[string]any{"type": "pointer", "id": "mouse", "parameters": map[string]any{"pointerType": "mouse"}, "actions": []any{
		map[string]any{"type": "pointerMove", "duration": 0, "x": x, "y": y}, map[string]any{"type": "pointerDown", "button": 0}, map[string]any{"type": "pointerUp", "button": 0}}}}})
}

// endBrowsers ends the processes of a browser profile.
func endBrowsers(profile string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(raw, []byte("--user-data-dir="+profile)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

type seen struct {
	domain.Observation
	Over  bool            `json:"over"`
	Right []domain.Action `json:"right"`
}

// official plays the same episodes in the call sequence of the official MiniWoB++ client: a reset of nine round trips (eight without screenshot), a step
// of six (five): metadata, action, metadata, utterance, DOM, screenshot.
func (d *driver) official(shots bool) float64 {
	steps := 0
	shot := func() {
		if shots {
			d.call(http.MethodGet, "/screenshot", nil)
		}
	}
	look := func() seen {
		d.js("document.title") // utterance
		var s seen
		_ = json.Unmarshal(d.js("kit.observe()"), &s) // DOM
		shot()
		return s
	}
	t := time.Now()
	for i := range episodesPerSide {
		x := task(i)
		d.js("0")                                                                       // end the old episode
		d.js("0")                                                                       // seed
		d.js("0")                                                                       // data mode
		d.js(fmt.Sprintf("kit.reset(%q, %q, '%d').width", x.Template, x.Split, x.Seed)) // start
		d.js("document.readyState")                                                     // ready
		s := look()                                                                     // utterance, DOM, screenshot
		d.js("kit.width()")                                                             // metadata
		for !s.Over && len(s.Right) > 0 && s.Right[0].Type == domain.ActionClick {
			d.js("kit.width()") // metadata
			e, _ := s.Element(*s.Right[0].Index)
			d.click(e.Bounds[0]+e.Bounds[2]/2, e.Bounds[1]+e.Bounds[3]/2)
			d.js("kit.width()") // metadata
			s = look()
			steps++
		}
		if !s.Over && (len(s.Right) == 0 || s.Right[0].Type != domain.ActionStatus) {
			d.b.Fatalf("WebDriver did not solve %+v", x)
		}
	}
	return float64(steps) / time.Since(t).Seconds()
}

func startDriver(b *testing.B, url string) *driver {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	cmd := exec.Command("chromedriver", fmt.Sprintf("--port=%d", port))
	profile := b.TempDir() // chromedriver makes the profile below it
	cmd.Env = append(os.Environ(), "TMPDIR="+profile)
	if err := cmd.Start(); err != nil {
		b.Fatal(err, " (scripts/chromedriver.sh installs it)")
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		endBrowsers(profile) // chromedriver does not know them behind Debian's start script
	})
	d := &driver{b: b, base: fmt.Sprintf("http://127.0.0.1:%d", port)}
	for range 100 {
		if res, err := http.Get(d.base + "/status"); err == nil {
			_ = res.Body.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	path, err := browser.Find()
	if err != nil {
		b.Fatal(err)
	}
	path, err = exec.LookPath(path)
	if err != nil {
		b.Fatal(err)
	}
	var session struct {
		ID string `json:"sessionId"`
	}
	raw := d.call(http.MethodPost, "/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{"goog:chromeOptions": map[string]any{"binary": path,
		"args": []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--window-size=360,640", "--hide-scrollbars"}}}}})
	if err := json.Unmarshal(raw, &session); err != nil {
		b.Fatal(err)
	}
	d.base += "/session/" + session.ID
	b.Cleanup(func() { d.call(http.MethodDelete, "", nil) })
	d.call(http.MethodPost, "/url", map[string]any{"url": url})
	return d
}

// BenchmarkBrowser compares environment steps per second of one browser, virtual clock included, with WebDriver on the same pages and observations.
func BenchmarkBrowser(b *testing.B) {
	s, err := webtasks.New(1, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	env, err := s.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer env.Close(b.Context())
	d := startDriver(b, s.URL())
	ours(b, env, false) // warm
	d.official(false)
	us, them, ratio := sideBySide(func() float64 { return ours(b, env, false) }, func() float64 { return d.official(true) })
	note("steps/s: environment (screenshot on request, none asked) and WebDriver with its screenshot", "%.1f and %.1f", us, them)
	line(b, "environment / WebDriver in the official call sequence with its screenshot (default)", ratio, ">= 8", ratio >= 8)
	us, them, ratio = sideBySide(func() float64 { return ours(b, env, false) }, func() float64 { return d.official(false) })
	note("steps/s without screenshots on both sides", "%.1f and %.1f", us, them)
	line(b, "environment / WebDriver without screenshots on both sides", ratio, ">= 4", ratio >= 4)
}
