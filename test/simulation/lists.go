package simulation

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
)

// copy copies an object of the server, or one of its versions.
func (s *s3) copy(req *http.Request, key string) (*http.Response, error) {
	from, err := url.Parse(req.Header.Get("X-Amz-Copy-Source"))
	if err != nil {
		return nil, err
	}
	source := strings.TrimPrefix(strings.TrimPrefix(from.Path, "/"), bucketName+"/")
	found := s.disk.get(source, 0)
	if id := from.Query().Get("versionId"); id != "" {
		found = s.disk.version(source, id)
	}
	if found.body == nil {
		return fails(req, http.StatusNotFound, "NoSuchKey"), nil
	}
	s.disk.put(key, found.body)

	return respond(req, http.StatusOK, []byte(`<CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>`)), nil
}

// stamp writes a time in the format of S3's lists.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// list lists objects. With a delimiter, all objects below a folder are one common prefix.
func (s *s3) list(req *http.Request, kind FaultKind) (*http.Response, error) {
	query := req.URL.Query()
	prefix := query.Get("prefix")
	delimiter := query.Get("delimiter")
	found := s.disk.list(prefix, s.ago())
	at := int(domain.Seed(uint64(len(found)), prefix) % uint64(max(1, len(found))))
	switch {
	case kind == S3Omits && len(found) > 0:
		found = slices.Delete(found, at, at+1)
	case kind == S3Cut:
		found = found[:at]
	}
	type content struct {
		Key          string
		Size         int
		LastModified string
	}
	type folder struct{ Prefix string }
	out := struct {
		XMLName        xml.Name `xml:"ListBucketResult"`
		IsTruncated    bool
		Contents       []content
		CommonPrefixes []folder
	}{}
	for _, o := range found {
		rest := strings.TrimPrefix(o.key, prefix)
		if name, _, below := strings.Cut(rest, delimiter); delimiter != "" && below {
			f := folder{prefix + name + delimiter}
			if !slices.Contains(out.CommonPrefixes, f) {
				out.CommonPrefixes = append(out.CommonPrefixes, f)
			}

			continue
		}
		out.Contents = append(out.Contents, content{o.key, len(o.body), stamp(s.disk.written(o.version))})
	}
	raw, err := xml.Marshal(out)

	return respond(req, http.StatusOK, raw), err
}

// versions lists the versions of objects, the newest of a key first. Half of the buckets keep no versions.
func (s *s3) versions(req *http.Request) (*http.Response, error) {
	type item struct {
		XMLName      xml.Name
		Key          string
		VersionId    string
		IsLatest     bool
		LastModified string
		Size         int
	}
	out := struct {
		XMLName     xml.Name `xml:"ListVersionsResult"`
		IsTruncated bool
		Items       []item
	}{}
	for _, o := range s.disk.history(req.URL.Query().Get("prefix")) {
		x := item{
			XMLName: xml.Name{Local: "Version"}, Key: o.key, VersionId: strconv.Itoa(o.number), IsLatest: o.latest,
			LastModified: stamp(s.disk.written(o.version)), Size: len(o.body),
		}
		if o.body == nil {
			x.XMLName.Local = "DeleteMarker"
		}
		if s.disk.versioned || o.latest && o.body != nil {
			out.Items = append(out.Items, x)
		}
	}
	raw, err := xml.Marshal(out)

	return respond(req, http.StatusOK, raw), err
}
