// Package notify posts notices to a webhook. The webhook's address is in the environment of the workers, never in a
// specification or a schedule, which others may write.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/template"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
)

// Variables of control workers. Each of them with _FILE appended may instead name a file that contains its value.
const (
	EnvWebhook  = "COLLABUI_WEBHOOK"          // the URL to which notices are posted
	EnvTemplate = "COLLABUI_WEBHOOK_TEMPLATE" // the body of a request: a Go template of a notice
)

// maxText is the largest length of a notice's text in bytes. Errors may quote models and pages.
const maxText = 2000

// timeout limits one request.
const timeout = 20 * time.Second

// Webhook is a URL to which notices are posted. The zero value accepts no notices.
type Webhook struct {
	url  string // may be a secret
	host string
	body *template.Template // if nil, the body is the notice as JSON
}

// Load reads the webhook from the environment. If the environment names none, it returns the zero value.
func Load() (Webhook, error) {
	address, err := config.Secret(EnvWebhook)
	if err != nil || address == "" {
		return Webhook{}, err
	}
	text, err := config.Secret(EnvTemplate)
	if err != nil {
		return Webhook{}, err
	}

	return New(address, text)
}

// New returns a webhook. text is a Go template of a domain.Notice, in which the function json quotes a value; if it is
// empty, the body is the notice as JSON.
func New(address, text string) (Webhook, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return Webhook{}, fault.New(fault.Invalid, "%s: expected a URL with http or https", EnvWebhook)
	}
	webhook := Webhook{url: address, host: parsed.Host}
	if text == "" {
		return webhook, nil
	}
	quote := template.FuncMap{"json": func(value any) (string, error) {
		raw, err := json.Marshal(value)

		return string(raw), err
	}}
	webhook.body, err = template.New(EnvTemplate).Funcs(quote).Parse(text)
	if err == nil {
		err = webhook.body.Execute(io.Discard, domain.Notice{}) // detects fields that do not exist
	}
	if err != nil {
		return Webhook{}, fault.New(fault.Invalid, "%s: expected a Go template of a notice: %w", EnvTemplate, err)
	}

	return webhook, nil
}

// Exists reports whether the webhook accepts notices.
func (w Webhook) Exists() bool { return w.url != "" }

// Post posts a notice, unless the template renders it as empty. It may be repeated: the header webhook-id contains the
// notice's id. The error contains only the host of the webhook's address.
func (w Webhook) Post(ctx context.Context, notice domain.Notice) error {
	if !w.Exists() {
		return nil
	}
	if len(notice.Text) > maxText {
		notice.Text = strings.ToValidUTF8(notice.Text[:maxText], "") + "…"
	}
	body, err := w.render(notice)
	if err != nil || len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return fault.New(fault.Invalid, "%s is no URL", EnvWebhook)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", notice.ID)

	client := http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		var located *url.Error
		if errors.As(err, &located) { // it quotes the URL, which may be a secret
			err = located.Err
		}

		return fault.New(fault.Transient, "the webhook at %s does not answer: %w", w.host, err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
	if res.StatusCode/100 != 2 {
		return fault.New(fault.Transient, "the webhook at %s answers %s", w.host, res.Status)
	}

	return nil
}

// render returns the body of a request.
func (w Webhook) render(notice domain.Notice) ([]byte, error) {
	if w.body == nil {
		return json.Marshal(notice)
	}
	var out bytes.Buffer
	if err := w.body.Execute(&out, notice); err != nil {
		return nil, fault.New(fault.Invalid, "%s fails on notice %s: %w", EnvTemplate, notice.ID, err)
	}

	return out.Bytes(), nil
}
