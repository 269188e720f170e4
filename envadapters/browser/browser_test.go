package browser

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// asking is a page that reports whether it could read another address.
const asking = `<script>
	globalThis.read = url => fetch(url, {mode: "no-cors"}).then(() => "read", () => "refused")
</script>`

func TestABrowserSeesNoSecretsAndNoOtherHost(t *testing.T) {
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	t.Setenv("CANARY_API_KEY", "canary-of-a-key")
	t.Setenv("COLLABUI_S3_SECRET_KEY", "canary-of-the-store")

	server, base, err := Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, asking) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(other.Close)

	pool := NewPool(base, 1, 1)
	t.Cleanup(pool.Close)
	b := pool.browsers[0]
	tab, err := b.Blank(t.Context(), View{Width: 100, Height: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()

	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", b.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(environment, []byte("canary")) || !bytes.Contains(environment, []byte("PATH=")) {
		t.Errorf("the browser's environment is %q, want PATH and no secret", environment)
	}

	if err := tab.Navigate(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(other.URL, "http://"), ":")
	for address, want := range map[string]string{
		base:                        "read",
		"http://localhost:" + port:  "refused",
		"http://evil.example/":      "refused",
		"http://192.0.2.1/":         "refused",
		"file:///etc/passwd":        "refused",
		"chrome://version":          "refused",
		"http://[::1]:" + port:      "refused",
		"http://127.0.0.2:" + port:  "refused",
		"http://127.0.0.1:" + port:  "refused",
		"http://2130706433:" + port: "refused", // 127.0.0.1 written as a number
	} {
		var got string
		if err := tab.Eval(t.Context(), fmt.Sprintf("read(%q)", address), &got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("a page that asks for %s: %s, want %s", address, got, want)
		}
	}
	for _, address := range []string{"file:///etc/passwd", "chrome://version"} {
		var at string
		script := fmt.Sprintf("(() => { try { location.href = %q } catch (e) {} return location.href })()", address)
		if err := tab.Eval(t.Context(), script, &at); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(at, base) {
			t.Errorf("a page that goes to %s is at %s, want it where it was", address, at)
		}
	}
}
