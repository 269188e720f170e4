package store

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/minio/minio-go/v7"
)

// defaultRegion is signed for while nothing else is known. Servers that have no regions accept it.
const defaultRegion = "us-east-1"

// regions lets the client learn the region of the bucket. The client asks for the region before anything else, which
// takes a request and a permission: regions answers that question itself, by a guess. A server that is asked with the
// wrong region names the right one, and the client repeats its request with that. Servers do so in several forms, of
// which the client understands one.
type regions struct {
	next  http.RoundTripper
	guess string
}

func (r *regions) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet && req.URL.Query().Has("location") {
		return answer(req, http.StatusOK, fmt.Sprintf("<LocationConstraint>%s</LocationConstraint>", r.guess)), nil
	}
	res, err := r.next.RoundTrip(req)
	if err != nil || res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusMovedPermanently {
		return res, err
	}

	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if named := namedRegion(res.Header, body); named != "" && named != signedRegion(req) {
		return answer(req, res.StatusCode, fmt.Sprintf(
			"<Error><Code>%s</Code><Message>the bucket is in the region %s</Message><Region>%[2]s</Region></Error>",
			minio.AuthorizationHeaderMalformed, named)), nil
	}

	return res, nil
}

// answer returns the answer to a request that the server was not asked, or that it gave in another form.
func answer(req *http.Request, status int, body string) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/xml"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

var (
	// expected matches the region in the words of an error: AWS, B2 and versitygw write "expecting".
	expected = regexp.MustCompile(`expecting ['"]?([a-z0-9-]+)`)

	// regionName matches what may be the name of a region.
	regionName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

	// scope matches the region for which a request is signed.
	scope = regexp.MustCompile(`Credential=[^,]*/\d{8}/([^/,]*)/s3/aws4_request`)
)

// namedRegion returns the region that an answer says to be right, or nothing.
func namedRegion(h http.Header, body []byte) string {
	var e struct{ Code, Message, Region string }
	_ = xml.Unmarshal(body, &e) // what is no error document names no region
	named := strings.TrimSpace(e.Region)
	if named == "" {
		named = h.Get("X-Amz-Bucket-Region")
	}
	if found := expected.FindStringSubmatch(e.Message); named == "" && found != nil &&
		(e.Code == minio.AuthorizationHeaderMalformed || e.Code == minio.InvalidRegion) {
		named = found[1]
	}
	if !regionName.MatchString(named) {
		return ""
	}

	return named
}

// signedRegion returns the region for which a request is signed, or nothing.
func signedRegion(req *http.Request) string {
	if found := scope.FindStringSubmatch(req.Header.Get("Authorization")); found != nil {
		return found[1]
	}

	return ""
}
