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

	"github.com/collabui/collabui/envadapters/browser"
)

// driver is a WebDriver session.
type driver struct {
	b    *testing.B
	base string
}

// object is one of JSON.
type object = map[string]any

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
		d.b.Fatalf("%s %s: %s %s, want 200 and a value", method, path, res.Status, out)
	}

	return v.Value
}

func (d *driver) js(script string) json.RawMessage {
	return d.call(http.MethodPost, "/execute/sync", object{"script": "return " + script, "args": []any{}})
}

func (d *driver) click(x, y int) {
	d.call(http.MethodPost, "/actions", object{"actions": []object{{
		"type":       "pointer",
		"id":         "mouse",
		"parameters": object{"pointerType": "mouse"},
		"actions": []object{
			{"type": "pointerMove", "duration": 0, "x": x, "y": y},
			{"type": "pointerDown", "button": 0},
			{"type": "pointerUp", "button": 0},
		},
	}}})
}

// endBrowsers kills the processes of a browser profile.
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

// startDriver opens a page in a browser of chromedriver.
func startDriver(b *testing.B, url string) *driver {
	d := &driver{b: b, base: startChromedriver(b)}
	path, err := browser.Find()
	if err == nil {
		path, err = exec.LookPath(path)
	}

	if err != nil {
		b.Fatal(err)
	}

	raw := d.call(http.MethodPost, "/session", object{"capabilities": object{"alwaysMatch": object{
		"goog:chromeOptions": object{
			"binary": path,
			"args": []string{
				"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
				"--disable-background-networking", "--window-size=360,640", "--hide-scrollbars",
			},
		},
	}}})
	var session struct {
		ID string `json:"sessionId"`
	}

	if err := json.Unmarshal(raw, &session); err != nil {
		b.Fatal(err)
	}

	d.base += "/session/" + session.ID
	b.Cleanup(func() { d.call(http.MethodDelete, "", nil) })
	d.call(http.MethodPost, "/url", object{"url": url})

	return d
}

// startChromedriver returns the address of a chromedriver that is ready.
func startChromedriver(b *testing.B) string {
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
		b.Fatalf("start chromedriver: %v; want it installed, as by scripts/chromedriver.sh", err)
	}

	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		endBrowsers(profile) // chromedriver does not know them behind Debian's start script
	})

	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	for range 100 {
		if res, err := http.Get(base + "/status"); err == nil {
			_ = res.Body.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}

	return base
}
