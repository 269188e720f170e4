package store_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/collabui/collabui/internal/store"
)

// elsewhere is the handler of a server whose bucket is in a region. It refuses requests that are signed for another
// region.
func elsewhere(region string, refuse http.HandlerFunc) (_ http.HandlerFunc, refused *atomic.Int32) {
	refused = &atomic.Int32{}

	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "/"+region+"/s3/") {
			refused.Add(1)
			refuse(w, r)

			return
		}
		w.Header().Set("ETag", `"e"`)
	}, refused
}

// malformed answers 400 with an error document, which the response to a HEAD lacks.
func malformed(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusBadRequest)
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, "<Error><Code>AuthorizationHeaderMalformed</Code>"+text+"</Error>")
		}
	}
}

func TestTheRegionIsWhatTheServerNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse http.HandlerFunc
		given  string // the region of the settings
		first  int32  // the largest number of requests for a wrong region
	}{
		"AWS, in an element": {malformed("<Region>eu-central-1</Region>"), "", 1},
		"by a setting":       {malformed(""), "eu-central-1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, refused := elsewhere("eu-central-1", c.refuse)
			srv := httptest.NewServer(handler)
			t.Cleanup(srv.Close)
			b, err := store.Open(store.Config{
				Endpoint: strings.TrimPrefix(srv.URL, "http://"), Bucket: "bucket", Access: "a", Secret: "b",
				Region: c.given,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"runs/x/spec.json", "runs/y/spec.json"} {
				if created, err := b.PutOnce(t.Context(), key, []byte("x")); err != nil || !created {
					t.Errorf("PutOnce = %v, %v, want the object written", created, err)
				}
			}
			if err := b.Check(t.Context()); err != nil {
				t.Errorf("Check = %v, want nil", err)
			}
			if n := refused.Load(); n > c.first {
				t.Errorf("%d requests for a wrong region, want at most %d", n, c.first)
			}
		})
	}
}

func TestARegionThatTheServerDoesNotNameIsAskedFor(t *testing.T) {
	t.Parallel()
	handler, _ := elsewhere("r", malformed("<Message>The authorization header is malformed</Message>"))
	err := answering(t, handler).Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "COLLABUI_S3_REGION") {
		t.Errorf("Check = %v, want an error that names COLLABUI_S3_REGION", err)
	}
}

// TestCheckSaysWhatTheServerSays relies on another request, because the response to a HEAD has no message.
func TestCheckSaysWhatTheServerSays(t *testing.T) {
	t.Parallel()
	b := answering(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		if r.Method != http.MethodHead {
			_, _ = fmt.Fprint(w, "<Error><Code>ExpiredToken</Code><Message>the token has expired</Message></Error>")
		}
	})
	if err := b.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "the token has expired") {
		t.Errorf("Check = %v, want the words of the server", err)
	}
}

// recorded answers every request and keeps its address.
type recorded struct{ address string }

func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	r.address = req.URL.Host + req.URL.Path

	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Etag": {`"e"`}}, Request: req,
		Body: io.NopCloser(strings.NewReader("<LocationConstraint></LocationConstraint>")),
	}, nil
}

func TestAddressesNameTheBucketInTheStyleOfTheServer(t *testing.T) {
	t.Parallel()
	const east, central = "s3.dualstack.us-east-1.amazonaws.com", "s3.dualstack.eu-central-1.amazonaws.com"
	for name, c := range map[string]struct {
		endpoint, region string
		style            store.Style
		want             string
	}{
		"a server":             {"minio:9000", "", "", "minio:9000/bucket/a"},
		"a cloud, virtual":     {"cos.example.com", "", store.StyleVirtual, "bucket.cos.example.com/a"},
		"AWS":                  {"s3.amazonaws.com", "", "", "bucket." + east + "/a"},
		"AWS, in a region":     {"s3.eu-central-1.amazonaws.com", "", "", "bucket." + central + "/a"},
		"AWS, region as given": {"s3.amazonaws.com", "eu-central-1", "", "bucket." + central + "/a"},
		"AWS, path":            {"s3.amazonaws.com", "", store.StylePath, east + "/bucket/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &recorded{}
			b, err := store.Open(store.Config{
				Endpoint: c.endpoint, Bucket: "bucket", Region: c.region, Style: c.style, Access: "a", Secret: "b",
				TLS: true, Transport: server,
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.PutOnce(t.Context(), "a", []byte("x")); err != nil {
				t.Fatal(err)
			}
			if server.address != c.want {
				t.Errorf("the request went to %s, want %s", server.address, c.want)
			}
		})
	}
	if _, err := store.Open(store.Config{Endpoint: "h", Style: "dns"}); err == nil {
		t.Error("Open with the style dns = nil, want an error")
	}
}
