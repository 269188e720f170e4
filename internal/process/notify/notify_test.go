package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/notify"
	"github.com/collabui/collabui/internal/store/notices"
)

var paused = notices.Notice{Number: 7, ID: "r/paused/1", Kind: notices.Paused, Run: "r", Text: "no \"answer\"\n<b>"}

// only returns the one receiver of a file.
func only(t *testing.T, text string) notify.Receiver {
	t.Helper()
	all, err := notify.Parse("notify.yaml", []byte(text))
	if err != nil || len(all) != 1 {
		t.Fatalf("Parse = %v, %v; want one receiver", all, err)
	}

	return all[0]
}

func TestAWebhookReceivesASignedNotice(t *testing.T) {
	t.Setenv("HOOK_SECRET", "whsec_c2VjcmV0")
	var body []byte
	var header http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		header = r.Header
	}))
	defer srv.Close()
	r := only(t, "receivers: [{name: ops, webhook: "+srv.URL+", secret: HOOK_SECRET}]")
	if err := r.Tell(t.Context(), paused); err != nil {
		t.Fatal(err)
	}

	var got notices.Notice
	if err := json.Unmarshal(body, &got); err != nil || got != paused {
		t.Errorf("the webhook received %s, %v; want %+v", body, err, paused)
	}
	want := "v1," + notify.Sign("secret", paused.ID, header.Get("webhook-timestamp"), body)
	if header.Get("webhook-id") != paused.ID || header.Get("webhook-signature") != want {
		t.Errorf("the headers are %v, want the id %q and the signature %q", header, paused.ID, want)
	}

	text := only(t, `receivers: [{name: chat, webhook: "`+srv.URL+`", template: '{"text": {{json .Text}}}'}]`)
	if err := text.Tell(t.Context(), paused); err != nil {
		t.Fatal(err)
	}
	var said struct{ Text string }
	if err := json.Unmarshal(body, &said); err != nil || said.Text != paused.Text {
		t.Errorf("the webhook received %s, %v; want the text of the notice", body, err)
	}
}

func TestAWebhookThatDoesNotTakeANoticeIsATransientFaultWithoutItsURL(t *testing.T) {
	status := http.StatusInternalServerError
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Setenv("HOOK_URL", srv.URL+"/a-secret-path")
	r := only(t, "receivers: [{name: ops, webhook: $HOOK_URL}]")
	for _, status = range []int{500, 404, 302} {
		err := r.Tell(t.Context(), paused)
		if fault.KindOf(err) != fault.Transient || strings.Contains(err.Error(), "a-secret-path") {
			t.Errorf("%d: Tell = %v, want a transient fault without the path", status, err)
		}
	}
	srv.Close()
	err := r.Tell(t.Context(), paused)
	if fault.KindOf(err) != fault.Transient || strings.Contains(err.Error(), "a-secret-path") {
		t.Errorf("Tell without a server = %v, want a transient fault without the path", err)
	}
}

func TestACommandReadsTheNoticeAndHasACleanEnvironment(t *testing.T) {
	t.Setenv("COLLABUI_S3_SECRET_KEY", "canary")
	out := filepath.Join(t.TempDir(), "out")
	r := only(t, `receivers: [{name: pager, command: [sh, -c, "cat > `+out+`; env >> `+out+`"]}]`)
	if err := r.Tell(t.Context(), paused); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(raw), `"id":"r/paused/1"`) || strings.Contains(string(raw), "canary") {
		t.Errorf("the command has read %s, %v; want the notice and no secret", raw, err)
	}
	fails := only(t, "receivers: [{name: pager, command: [sh, -c, 'echo no line; exit 3']}]")
	err = fails.Tell(t.Context(), paused)
	if fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "no line") {
		t.Errorf("Tell = %v, want a transient fault with what the command said", err)
	}
}

func TestReceiversAskForKindsAndRuns(t *testing.T) {
	r := only(t, "receivers: [{name: ops, command: ['true'], on: [paused], runs: [prod-*]}]")
	for name, x := range map[string]struct {
		notice notices.Notice
		want   bool
	}{
		"another run":  {notices.Notice{Kind: notices.Paused, Run: "try-1"}, false},
		"another kind": {notices.Notice{Kind: notices.Ended, Run: "prod-1"}, false},
		"both":         {notices.Notice{Kind: notices.Paused, Run: "prod-1"}, true},
		"a test":       {notices.Notice{Kind: notices.Test}, true},
	} {
		if got := r.Wants(x.notice); got != x.want {
			t.Errorf("%s: Wants = %v, want %v", name, got, x.want)
		}
	}
}

func TestImpossibleReceiversAreRefusedWithTheirPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"receivers: [{name: a}]":                                            "expected either webhook or command",
		"receivers: [{name: a, webhook: 'ftp://x'}]":                        "expected a URL with http or https",
		"receivers: [{name: a, webhook: $NOT_SET}]":                         "NOT_SET of webhook is not set",
		"receivers: [{name: a, command: ['true'], secret: NOT_SET}]":        "NOT_SET of secret is not set",
		"receivers: [{name: a, command: ['true'], on: [everything]}]":       "expected one of",
		"receivers: [{name: a, command: ['true'], template: '{{'}]":         "expected a Go template",
		"receivers: [{name: a, webhook: 'http://x', template: '{{.Txt}}'}]": "expected a Go template",
		"receivers: [{name: a, command: ['true'], runs: ['prod-[']}]":       "expected patterns of runs",
		"receivers: [{name: a, comand: ['true']}]":                          "unknown key",
		"receivers: [{name: a, command: [a]}, {name: a}]":                   "that no other receiver has",
	} {
		_, err := notify.Parse("notify.yaml", []byte(text))
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Parse = %v, want an invalid fault with %q", text, err, want)
		}
	}
}

func TestAFileThatIsTooLargeIsNotReadToItsEnd(t *testing.T) {
	const size = 64 << 20
	name := filepath.Join(t.TempDir(), "notify.yaml")
	if err := os.WriteFile(name, []byte("receivers: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	t.Setenv(notify.EnvFile, name)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := notify.Load()
	runtime.ReadMemStats(&after)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "notify.yaml: larger than") {
		t.Errorf("Load = %v, want an invalid fault that the file is too large", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > size/4 {
		t.Errorf("Load takes %d bytes of memory for a file of %d bytes, want no more than are needed to refuse it",
			got, size)
	}
}

func TestASlowReceiverIsGivenUpWithItsContext(t *testing.T) {
	r := only(t, "receivers: [{name: pager, command: [sleep, '60']}]")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Tell(ctx, paused); fault.KindOf(err) != fault.Transient {
		t.Errorf("Tell = %v, want a transient fault", err)
	}
}

func TestAFileThatOthersMayChangeIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notify.yaml")
	if err := os.WriteFile(file, []byte("receivers: [{name: ops, command: [cat]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(notify.EnvFile, file)
	for mode, refused := range map[os.FileMode]bool{
		0o600: false, 0o644: false, 0o444: false, 0o664: true, 0o646: true, 0o622: true, 0o777: true,
	} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := notify.Load(); (err != nil) != refused || refused && !strings.Contains(err.Error(), "chmod go-w") {
			t.Errorf("mode %o: Load() = %v, want it to be refused: %v", mode, err, refused)
		}
	}

	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	if err := errors.Join(os.Chmod(file, 0o600), os.Chown(file, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if _, err := notify.Load(); err == nil || !strings.Contains(err.Error(), "belongs to account 65534") {
		t.Errorf("Load() = %v of a file of another account, want it to be refused", err)
	}
}
