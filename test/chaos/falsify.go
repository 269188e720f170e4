package chaos

import (
	"bytes"
	"net/http"
	"strconv"
)

// strikes reports whether a fault can strike a request: faults that falsify answers about objects strike reads, and
// faults that falsify lists strike lists.
func (f s3Fault) strikes(r *http.Request) bool {
	list := r.URL.Query().Has("list-type")
	switch f {
	case s3Stale:
		return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !list
	case s3Thin, s3Cut:
		return r.Method == http.MethodGet && list
	}

	return true
}

// noSuchKey is the error document of S3 for an object that does not exist.
const noSuchKey = `<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>`

// falsify answers as a server that has not seen the newest writes. If the false answer would not differ from the true
// one, the true one is passed on, and the fault strikes the next request.
func (p *s3Proxy) falsify(w http.ResponseWriter, r *http.Request, fault s3Fault) {
	got := &kept{header: http.Header{}, status: http.StatusOK}
	p.behind.ServeHTTP(got, r)
	status := got.status
	body := got.body.Bytes()
	switch {
	case got.status != http.StatusOK:
	case fault == s3Stale:
		status = http.StatusNotFound
		body = []byte(noSuchKey)
		got.header.Set("Content-Type", "application/xml")
	default:
		body = shortened(body, fault == s3Cut)
	}
	p.mu.Lock()
	if bytes.Equal(body, got.body.Bytes()) {
		p.faults = append([]s3Fault{fault}, p.faults...)
	}
	p.mu.Unlock()

	for name, values := range got.header {
		w.Header()[name] = values
	}
	if r.Method != http.MethodHead || status != got.status {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client notices
}

// shortened returns a list of objects without the one in the middle or, if cut is true, also without all after it.
func shortened(list []byte, cut bool) []byte {
	begin := []byte("<Contents>")
	end := []byte("</Contents>")
	n := bytes.Count(list, begin)
	if n == 0 {
		return list
	}
	var out bytes.Buffer
	for i := 0; ; i++ {
		from := bytes.Index(list, begin)
		if from < 0 {
			break
		}
		to := from + bytes.Index(list[from:], end) + len(end)
		if i < n/2 || i > n/2 && !cut {
			out.Write(list[:to])
		} else {
			out.Write(list[:from])
		}
		list = list[to:]
	}
	out.Write(list)
	if cut {
		whole := bytes.ReplaceAll(out.Bytes(), []byte("<IsTruncated>true"), []byte("<IsTruncated>false"))

		return whole
	}

	return out.Bytes()
}

// kept is an answer that is held back.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header            { return k.header }
func (k *kept) Write(data []byte) (int, error) { return k.body.Write(data) }
func (k *kept) WriteHeader(status int)         { k.status = status }
