package notify_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/observe/notify"
)

// hook starts a webhook that keeps its last request.
func hook(t *testing.T, status int) (url string, body, id *string) {
	t.Helper()
	body, id = new(string), new(string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		*body, *id = string(raw), r.Header.Get("webhook-id")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)

	return s.URL + "/services/T0P-SECRET", body, id
}

func TestAWebhookTakesNotices(t *testing.T) {
	t.Parallel()
	n := domain.Notice{ID: "mine/paused/1", Kind: domain.NoticePaused, Run: "mine", Text: `"no" <disk>`}
	long := n
	long.Text = strings.Repeat("ä", 5000)
	for name, c := range map[string]struct {
		template string
		notice   domain.Notice
		want     string // in the body
		size     int    // the largest number of bytes of the body
	}{
		"as JSON":              {"", n, `"text":"\"no\" `, 300},
		"by a template":        {`{"text": {{json .Text}}}`, n, `{"text": "\"no\" `, 60},
		"of some kinds":        {`{{if eq .Kind "paused" "failed"}}{{.Run}}{{end}}`, n, "mine", 10},
		"shortened":            {"{{.Text}}", long, "ä…", 2010},
		"of no kind like this": {"{{if eq .Kind `ended`}}{{.Run}}{{end}}", n, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, body, id := hook(t, http.StatusNoContent)
			w, err := notify.New(url, c.template)
			if err == nil {
				err = w.Post(t.Context(), c.notice)
			}
			if err != nil || !strings.Contains(*body, c.want) || len(*body) > c.size {
				t.Errorf("Post = %v with the body %.200q of %d bytes, want %q in at most %d",
					err, *body, len(*body), c.want, c.size)
			}
			if sent := c.want != ""; sent != (*id == c.notice.ID) {
				t.Errorf("the request has the id %q, want that of the notice, or no request", *id)
			}
		})
	}
}

func TestAWebhookThatRefusesIsAskedAgainAndItsAddressIsKept(t *testing.T) {
	t.Parallel()
	away, _, _ := hook(t, http.StatusServiceUnavailable)
	elsewhere, _, _ := hook(t, http.StatusFound) // a redirect is not followed
	for name, url := range map[string]string{
		"away": away, "elsewhere": elsewhere, "nobody": "http://127.0.0.1:1/services/T0P-SECRET",
	} {
		w, err := notify.New(url, "")
		if err == nil {
			err = w.Post(t.Context(), domain.Notice{ID: "1"})
		}
		if fault.KindOf(err) != fault.Transient || strings.Contains(err.Error(), "T0P-SECRET") {
			t.Errorf("%s: Post = %v, want a transient fault without the address", name, err)
		}
	}
}

func TestAWrongWebhookIsRefusedBeforeWorkBegins(t *testing.T) {
	t.Setenv(notify.EnvWebhook, "")
	if w, err := notify.Load(); err != nil || w.Exists() {
		t.Errorf("Load = %v, %v without an address, want no webhook", w, err)
	}
	for name, c := range map[string]struct{ address, template, want string }{
		"no URL":            {"ops@example.org", "", notify.EnvWebhook},
		"no template":       {"https://example.org/x", "{{.Text", notify.EnvTemplate},
		"an unknown member": {"https://example.org/x", "{{.Who}}", notify.EnvTemplate},
	} {
		t.Setenv(notify.EnvWebhook, c.address)
		t.Setenv(notify.EnvTemplate, c.template)
		if _, err := notify.Load(); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Load = %v, want an invalid fault that names %s", name, err, c.want)
		}
	}
}
