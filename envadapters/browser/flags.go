package browser

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/chromedp/chromedp"
)

// switches are the flags of every browser. They make it quiet, independent of the network, and equal in its drawing
// everywhere.
var switches = []string{
	"disable-background-networking",
	"disable-component-update",
	"disable-sync",
	"disable-quic",
	"disable-dev-shm-usage",
	"disable-breakpad",
	"disable-crash-reporter",
	"disable-extensions",
	"mute-audio",
	"hide-scrollbars",
	"disable-background-timer-throttling",
	"disable-backgrounding-occluded-windows",
	"disable-renderer-backgrounding",
	"disable-smooth-scrolling",
	"disable-hang-monitor",
}

// onRequest are further flags of a headless shell, which then draws a frame only on request. Without them, a page whose
// clock is stopped is offered 60 frames a second and can draw none of them, which costs a thirtieth of a core.
var onRequest = []string{"enable-begin-frame-control", "run-all-compositor-stages-before-draw"}

// isShell reports whether a program is Chromium's headless shell. The other programs cannot draw on request.
func isShell(path string) bool { return strings.Contains(filepath.Base(path), "headless-shell") }

// options returns the options of a browser. pages is the base URL of the page server, and proxy the address of the
// proxy to further hosts; both may be empty.
func options(path, profile string, who account, pages, proxy string) []chromedp.ExecAllocatorOption {
	o := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path),
		chromedp.UserDataDir(profile),
		chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck,
		chromedp.Headless,
		chromedp.DisableGPU,
		chromedp.WindowSize(Width, Height),
		// The browser ends when its pipe closes, so it cannot outlive this process. The default, a parent-death signal,
		// is tied to the thread that forks and would end it too early. A separate process group shields it from a
		// ctrl-C in a terminal.
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: who.credential}
			cmd.Dir = profile
			// chromedp passes on the whole environment of this process, so env starts the browser with less of it.
			own := []string{"HOME=" + profile, "TMPDIR=" + profile}
			cmd.Args = slices.Concat([]string{"env", "-i"}, environ(), own, []string{path}, cmd.Args[1:])
			cmd.Path = "/usr/bin/env"
		}),
	}

	flags := switches
	if isShell(path) {
		flags = slices.Concat(flags, onRequest)
	}
	for _, f := range flags {
		o = append(o, chromedp.Flag(f, true))
	}

	o = append(o,
		chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("force-device-scale-factor", "1"),
		chromedp.Flag("host-resolver-rules", reachable(pages, proxy)),
		// WebRTC reaches its peers without looking up a host. This flag restricts it to the proxy.
		chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		chromedp.Flag("proxy-server", cmp.Or(proxy, "direct://")),
		// The loopback is no exception: pages may request it from the proxy, which refuses it unless it is listed.
		chromedp.Flag("proxy-bypass-list", "<-loopback>;"+strings.TrimPrefix(pages, "http://")),
	)

	return append(o, chromedp.Flag("no-sandbox", !who.sandbox)) // if unset, it would follow from this process's account
}

// reachable returns Chromium's rules that make the given servers, each http://HOST:PORT or empty, the only existing
// hosts. The rules cover names and addresses in every spelling, and WebTransport, but not WebRTC.
func reachable(servers ...string) string {
	var rules strings.Builder
	for _, text := range servers {
		if address := strings.TrimPrefix(text, "http://"); address != "" {
			rules.WriteString("MAP " + address + " " + address + ", ")
		}
	}

	return rules.String() + "MAP * ~NOTFOUND"
}

// environ returns the part of this process's environment that a browser needs: the paths of programs and fonts, and the
// locale. It contains no keys.
func environ() []string {
	needed := regexp.MustCompile(`^(PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|FONTCONFIG_[A-Z]+|` +
		`DISPLAY|LD_LIBRARY_PATH|DBUS_SESSION_BUS_ADDRESS)=`)

	return slices.DeleteFunc(os.Environ(), func(value string) bool { return !needed.MatchString(value) })
}
