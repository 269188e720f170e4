// Package notify tells receivers of notices: webhooks, and commands of this host. Receivers are in a file that whoever
// runs a worker writes. They are never in a specification or a schedule, which others may write.
package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"slices"
	"syscall"
	"text/template"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/store/notices"
)

// EnvFile names the file with the receivers of a control worker.
const EnvFile = "COLLABUI_NOTIFY"

// Receiver is who is told of notices.
type Receiver struct {
	Name string `json:"name"`
	// Webhook is the URL that notices are posted to, or the name of a variable with it if it begins with $: such URLs
	// often are secrets.
	Webhook string `json:"webhook,omitempty"`
	// Secret names the variable with the secret that signs requests. Empty: they are not signed.
	Secret string `json:"secret,omitempty"`
	// Template is the body of a request, a Go template over the notice; json quotes a value. Empty: the notice as JSON.
	Template string `json:"template,omitempty"`
	// Command is run instead, with the notice as JSON on its standard input.
	Command []string `json:"command,omitempty"`

	On   []notices.Kind `json:"on,omitempty"`   // kinds that are told; empty: all
	Runs []string       `json:"runs,omitempty"` // patterns of runs, such as prod-*; empty: all

	body   *template.Template
	url    string
	secret string
	client *http.Client
}

// file is a file with receivers.
type file struct {
	Receivers []Receiver `json:"receivers"`
}

// Load reads the file that EnvFile names; without one there are no receivers.
func Load() ([]Receiver, error) {
	name := os.Getenv(EnvFile)
	if name == "" {
		return nil, nil
	}
	in, err := os.Open(name)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", EnvFile, err)
	}
	defer func() { _ = in.Close() }()
	if err := trusted(in); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(in, spec.MaxFile+1)) // of a larger file, enough to refuse it
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", EnvFile, err)
	}

	return Parse(name, raw)
}

// trusted returns an invalid fault if another account than root's or this process's may change an open file, whose
// commands this process runs.
func trusted(in *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return fault.New(fault.Invalid, "%s: %w", EnvFile, err)
	}
	mode := info.Mode().Perm()
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 && int(owner.Uid) != os.Getuid() {
		return fault.New(fault.Invalid, "%s: %s belongs to account %d, which could let this process run commands: "+
			"expected an owner of account %d or root", EnvFile, in.Name(), owner.Uid, os.Getuid())
	}
	if mode&0o022 != 0 {
		return fault.New(fault.Invalid, "%s: others may write to %s (mode %o), and let this process run commands: "+
			"run chmod go-w", EnvFile, in.Name(), mode)
	}

	return nil
}

// Parse reads a file with receivers. The error lists all mistakes with their places.
func Parse(name string, raw []byte) ([]Receiver, error) {
	var f file
	known := map[string]bool{}
	err := spec.Decode(spec.Source{Name: name}, raw, &f, func(must spec.Must) {
		for i, r := range f.Receivers {
			field := fmt.Sprintf("receivers[%d]", i)
			must.Name(r.Name, field+".name")
			must(!known[r.Name], field+".name", "a name that no other receiver has, not %q", r.Name)
			known[r.Name] = true
			must((r.Webhook == "") != (len(r.Command) == 0), field, "either webhook or command")
			for _, k := range r.On {
				must(slices.Contains(notices.Kinds, k), field+".on", "one of %v, not %q", notices.Kinds, k)
			}
			for _, pattern := range r.Runs {
				_, err := path.Match(pattern, "")
				must(err == nil, field+".runs", "patterns of runs, such as prod-*, not %q", pattern)
			}
			bad := tried(r.Template)
			must(bad == nil, field+".template", "a Go template of a notice: %v", bad)
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range f.Receivers {
		if err := f.Receivers[i].prepare(name); err != nil {
			return nil, err
		}
	}

	return f.Receivers, nil
}

// tried returns why a template cannot be used for a notice of some kind: what it names is looked up when it is used.
func tried(text string) error {
	t, err := template.New("").Funcs(quote).Parse(text)
	for _, kind := range notices.Kinds {
		if err == nil {
			err = t.Execute(io.Discard, notices.Notice{Kind: kind})
		}
	}

	return err
}

// quote is what templates may call.
var quote = template.FuncMap{"json": func(v any) (string, error) {
	raw, err := json.Marshal(v)

	return string(raw), err
}}

// timeout limits one attempt.
const timeout = 20 * time.Second

// prepare reads the secrets of a receiver from the environment.
func (r *Receiver) prepare(file string) (err error) {
	wrong := func(what string) error {
		return fault.New(fault.Invalid, "%s: receiver %s: %s", file, r.Name, what)
	}
	if r.Secret != "" {
		if r.secret, err = config.Secret(r.Secret); err != nil || r.secret == "" {
			return wrong("the variable " + r.Secret + " of secret is not set")
		}
	}
	r.body = template.Must(template.New(r.Name).Funcs(quote).Parse(r.Template))
	if r.Webhook == "" {
		return nil
	}
	if r.url = r.Webhook; r.Webhook[0] == '$' {
		if r.url, err = config.Secret(r.Webhook[1:]); err != nil || r.url == "" {
			return wrong("the variable " + r.Webhook[1:] + " of webhook is not set")
		}
	}
	u, err := url.Parse(r.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return wrong("webhook: expected a URL with http or https")
	}
	r.client = &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}

	return nil
}

// Wants reports whether a receiver asks for a notice.
func (r Receiver) Wants(n notices.Notice) bool {
	if len(r.On) > 0 && !slices.Contains(r.On, n.Kind) && n.Kind != notices.Test {
		return false
	}

	return len(r.Runs) == 0 || n.Run == "" || slices.ContainsFunc(r.Runs, func(pattern string) bool {
		ok, err := path.Match(pattern, n.Run)

		return err == nil && ok
	})
}

// Tell tells a receiver of a notice, once. Any error is transient: whoever does not answer is told again.
func (r Receiver) Tell(ctx context.Context, n notices.Notice) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	raw, err := json.Marshal(n)
	if err != nil {
		return fault.As(fault.Fatal, err)
	}
	if r.Webhook == "" {
		return r.run(ctx, raw)
	}
	body := raw
	if r.Template != "" {
		var out bytes.Buffer
		if err := r.body.Execute(&out, n); err != nil {
			return fault.New(fault.Transient, "receiver %s: its template fails: %w", r.Name, err)
		}
		body = out.Bytes()
	}

	return r.post(ctx, n, body)
}

// post sends a request, signed as Standard Webhooks has it (https://www.standardwebhooks.com).
func (r Receiver) post(ctx context.Context, n notices.Notice, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return fault.New(fault.Transient, "receiver %s: the webhook is no URL", r.Name)
	}
	at := fmt.Sprint(time.Now().Unix())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", n.ID)
	req.Header.Set("webhook-timestamp", at)
	if r.secret != "" {
		req.Header.Set("webhook-signature", "v1,"+Sign(r.secret, n.ID, at, body))
	}
	res, err := r.client.Do(req)
	if err != nil {
		return fault.New(fault.Transient, "receiver %s: %s does not answer: %s", r.Name, req.URL.Host, cause(err))
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
	if res.StatusCode/100 != 2 {
		return fault.New(fault.Transient, "receiver %s: %s answers %s", r.Name, req.URL.Host, res.Status)
	}

	return nil
}

// cause returns an error of a request without its URL, which may be a secret.
func cause(err error) string {
	if u, ok := err.(*url.Error); ok { //nolint:errorlint // it is the outermost one
		return u.Err.Error()
	}

	return err.Error()
}

// Sign returns the signature of a request: the HMAC-SHA256 of id, time and body, in base64. A secret that begins with
// whsec_ is base64 itself.
func Sign(secret, id, at string, body []byte) string {
	key := []byte(secret)
	if rest, ok := bytes.CutPrefix(key, []byte("whsec_")); ok {
		if decoded, err := base64.StdEncoding.DecodeString(string(rest)); err == nil {
			key = decoded
		}
	}
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, at, body)

	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// run runs the command of a receiver.
func (r Receiver) run(ctx context.Context, notice []byte) error {
	cmd := exec.CommandContext(ctx, r.Command[0], r.Command[1:]...)
	cmd.Stdin = bytes.NewReader(notice)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fault.New(fault.Transient, "receiver %s: %s: %w: %.200s", r.Name, r.Command[0], err, out)
	}

	return nil
}
