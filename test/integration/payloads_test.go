//go:build integration

package integration

import (
	"encoding/base64"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/internal/local/supervisor"
)

// TestPayloadsAreEncryptedAndTheirKeysRotate trains with encrypted payloads and replaces the key on the way. Histories
// contain nothing in clear, the run equals one without encryption, commands read it, and the Temporal UI shows payloads
// through the codec server.
func TestPayloadsAreEncryptedAndTheirKeysRotate(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification)
	codec, keys := freeAddr(t), m.write("keys", payloadKey("one"))
	m.env = append(m.env, "COLLABUI_PAYLOAD_KEYS_FILE="+keys, "COLLABUI_CODEC=http://"+codec)
	m.must("train", m.spec, "--detach")
	m.rollsOut("0001", 6, 2*time.Minute)
	m.says([]string{"now: "}, "show", "kill") // the answer of a query, which is encrypted, too

	m.payloadKeys = payloadKey("two") + payloadKey("one")
	if err := os.Rename(m.write("keys.new", m.payloadKeys), keys); err != nil {
		t.Fatal(err)
	}
	same(t, m.finish())
	m.sealed("one", "two")

	cmd := exec.Command(binary("collabui"), "worker", "--roles", "codec", "--listen", codec, "--data", m.data)
	cmd.Env = append(os.Environ(), m.env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	m.uiShows("kill", `"Name": "kill"`)
}

// payloadKey returns a line of COLLABUI_PAYLOAD_KEYS. The key is derived from its name.
func payloadKey(name string) string {
	key := (name + strings.Repeat("-", 32))[:32]

	return name + "=" + base64.StdEncoding.EncodeToString([]byte(key)) + "\n"
}

// sealed checks that every payload of every history is encrypted, and that all keys were used.
func (m *machine) sealed(keys ...string) {
	m.t.Helper()
	c, err := client.Dial(client.Options{HostPort: m.service("temporal").Addr, Namespace: "collabui"})
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.Close()
	used := map[string]int{}
	for _, x := range m.executions(c) {
		for _, e := range m.history(c, x).Events {
			eachPayload(e.ProtoReflect(), func(p *commonpb.Payload) {
				if enc := string(p.Metadata["encoding"]); enc != "binary/encrypted" {
					m.t.Errorf("%s, event %d, %s: a payload is %s, want it encrypted: %.80s",
						x.Execution.WorkflowId, e.EventId, e.EventType, enc, p.Data)
				}
				used[string(p.Metadata["encryption-key-id"])]++
			})
		}
	}
	m.t.Logf("payloads by key: %v", used)
	if got := slices.Sorted(maps.Keys(used)); !slices.Equal(got, keys) {
		m.t.Errorf("the payloads have the keys %q, want %q", got, keys)
	}
}

// eachPayload passes on the payloads of an event, except search attributes and data of the SDK itself, such as names of
// its markers, which no codec sees.
func eachPayload(x protoreflect.Message, use func(*commonpb.Payload)) {
	switch p := x.Interface().(type) {
	case *commonpb.SearchAttributes:
		return
	case *commonpb.Payload:
		use(p)

		return
	}
	x.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				eachPayload(v.Message(), use)

				return true
			})
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				eachPayload(v.List().Get(i).Message(), use)
			}
		case !f.IsMap() && !f.IsList() && f.Message() != nil:
			eachPayload(v.Message(), use)
		}

		return true
	})
}

// uiShows opens the page of a workflow in the Temporal UI in Chromium, and waits for a text.
func (m *machine) uiShows(workflow, text string) {
	m.t.Helper()
	st, _ := supervisor.Read(m.data)
	m.looks("payloads.png", text, st.UI+"/namespaces/collabui/workflows/"+workflow)
}

// looks opens pages in Chromium, one after the other, and waits for a text in the last one. If COLLABUI_PICTURES names
// a folder, it takes a picture.
func (m *machine) looks(picture, text string, urls ...string) {
	m.t.Helper()
	path, err := browser.Find()
	if err != nil {
		m.t.Fatal(err)
	}
	alloc, end := chromedp.NewExecAllocator(m.t.Context(), chromedp.ExecPath(path),
		chromedp.UserDataDir(m.t.TempDir()), chromedp.Headless, chromedp.DisableGPU, chromedp.NoSandbox,
		chromedp.NoFirstRun, chromedp.WindowSize(1400, 1600))
	defer end()
	ctx, cancel := chromedp.NewContext(alloc)
	defer cancel()
	for _, url := range urls {
		if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
			m.t.Fatal(err)
		}
	}
	m.eventually(urls[len(urls)-1]+" shows "+text, time.Minute, func() bool {
		shown, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))

		return err == nil && strings.Contains(shown, text)
	})
	if dir := os.Getenv("COLLABUI_PICTURES"); dir != "" {
		shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, picture), shot, 0o644)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}
