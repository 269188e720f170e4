package view_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/collabui/collabui/envadapters/browser"
)

// tab is a page in a real Chromium, with its complaints.
type tab struct {
	t   testing.TB
	ctx context.Context

	mu         sync.Mutex
	complaints []string
}

// stopChromium ends the browser that tests share.
var stopChromium = func() {}

// chromium starts one browser for all tests, with the web platform as users have it: time runs, and files may be
// opened.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path, err := browser.Find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "chromium-*")
	if err != nil {
		return nil, err
	}
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.Headless, chromedp.DisableGPU,
		chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.WindowSize(1400, 1000))
	ctx, cancel := chromedp.NewContext(alloc)
	stopChromium = func() { cancel(); cancelAlloc(); _ = os.RemoveAll(dir) }

	return ctx, chromedp.Do(ctx)
})

func TestMain(m *testing.M) {
	code := m.Run()
	stopChromium()
	os.Exit(code)
}

// newTab opens a tab that shares nothing with others: no storage, no cache.
func newTab(t testing.TB) *tab {
	t.Helper()
	shared, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(shared, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	x := &tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	x.size(1400, 1000)
	err = chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			x.complain(fmt.Sprintf("exception: %+v", ev.ExceptionDetails))
		case *log.EventEntryAdded:
			x.complain(fmt.Sprintf("%s: %s %s", ev.Entry.Level, ev.Entry.Text, ev.Entry.URL))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	x.call(call(log.Enable, cdp.Empty{}), call(runtime.Enable, cdp.Empty{}))

	return x
}

func (x *tab) complain(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.complaints = append(x.complaints, text)
}

// quiet fails the test if the page complained about anything, such as a violation of its security policy.
func (x *tab) quiet() {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.complaints) > 0 {
		x.t.Errorf("the page complained: %.2000v, want nothing", x.complaints)
	}
	x.complaints = nil
}

// quietBut is quiet, except for complaints that contain one of some texts.
func (x *tab) quietBut(texts ...string) {
	x.t.Helper()
	x.mu.Lock()
	x.complaints = slices.DeleteFunc(x.complaints, func(c string) bool {
		return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(c, s) })
	})
	x.mu.Unlock()
	x.quiet()
}

// size sets the size of the window, in pixels.
func (x *tab) size(width, height int64) {
	x.t.Helper()
	x.call(call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1,
	}))
}

// media makes the page look as it does in print, or on a screen.
func (x *tab) media(media string) {
	x.t.Helper()
	x.call(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media}))
}

// open loads an address and waits for an expression to be true.
func (x *tab) open(url, ready string) {
	x.t.Helper()
	if err := chromedp.Do(x.ctx, chromedp.Navigate(url)); err != nil {
		x.t.Fatal(err)
	}
	x.wait(ready)
}

// eval returns the value of an expression.
func (x *tab) eval(expr string) any {
	x.t.Helper()
	yes := true
	r, err := chromedp.Call(x.ctx, runtime.Evaluate,
		runtime.EvaluateParams{Expression: expr, ReturnByValue: &yes, AwaitPromise: &yes})
	if err != nil || r.ExceptionDetails != nil {
		x.t.Fatalf("evaluate %s: got %v %+v, want a value", expr, err, r.ExceptionDetails)
	}
	var out any
	if len(r.Result.Value) > 0 {
		if err := json.Unmarshal([]byte(r.Result.Value), &out); err != nil {
			x.t.Fatal(err)
		}
	}

	return out
}

// wait waits until an expression is true.
func (x *tab) wait(expr string) {
	x.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if x.eval("!!("+expr+")") == true {
			return
		}
		if time.Now().After(end) {
			x.t.Fatalf("want %s, got after 30 s a page that says\n%.2000v", expr, x.eval("document.body.innerText"))
		}
	}
}

// page opens a page of the site by its hash and waits for a text in it.
func (x *tab) page(hash, text string) {
	x.t.Helper()
	x.eval(fmt.Sprintf("location.hash = %q", hash))
	x.wait(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// key presses a key.
func (x *tab) key(key string) {
	x.t.Helper()
	text := ""
	if len(key) == 1 {
		text = key
	}
	down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: text}
	up := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: key}
	x.call(call(input.DispatchKeyEvent, down), call(input.DispatchKeyEvent, up))
}

// choose sets a field of the filters, or clicks a box, by the beginning of its label.
func (x *tab) choose(label, value string) {
	x.t.Helper()
	x.eval(fmt.Sprintf(`(() => {
		const label = [...document.querySelectorAll('.filters label')]
			.find((l) => l.textContent.trim().startsWith(%q));
		const field = label.querySelector('select, input');
		if (field.type === 'checkbox') { field.click(); return; }
		field.value = %q;
		field.dispatchEvent(new Event(field.tagName === 'INPUT' ? 'input' : 'change', { bubbles: true }));
	})()`, label, value))
}

// shown returns the texts of the first column of a list.
func (x *tab) shown() []string {
	x.t.Helper()
	out := []string{}
	for _, v := range x.eval("[...document.querySelectorAll('.line.place a')].map((a) => a.textContent)").([]any) {
		out = append(out, v.(string))
	}

	return out
}

func (x *tab) call(calls ...func(context.Context) error) {
	x.t.Helper()
	for _, f := range calls {
		if err := f(x.ctx); err != nil {
			x.t.Fatal(err)
		}
	}
}

// call returns a call of the protocol.
func call[P, R any](cmd cdp.Command[P, R], p P) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, cmd, p)

		return err
	}
}
