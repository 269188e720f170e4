package store_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// TestAnUploadIsAsOldAsItsNewestPart lists uploads that began an hour ago. A part of the second one has just been
// written; the third one ends meanwhile.
func TestAnUploadIsAsOldAsItsNewestPart(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Second)
	began := now.Add(-time.Hour).Format(time.RFC3339)
	aborted := ""
	b := answering(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		id := q.Get("uploadId")
		w.Header().Set("Content-Type", "application/xml")
		switch {
		case r.Method == http.MethodDelete:
			aborted += id
			w.WriteHeader(http.StatusNoContent)
		case q.Has("uploads"):
			_, _ = io.WriteString(w, "<ListMultipartUploadsResult>")
			for _, id := range []string{"cut", "sent", "ended"} {
				_, _ = fmt.Fprintf(w, "<Upload><Key>blobs/%s</Key><UploadId>%[1]s</UploadId>"+
					"<Initiated>%s</Initiated></Upload>", id, began)
			}
			_, _ = io.WriteString(w, "</ListMultipartUploadsResult>")
		case id == "ended":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<Error><Code>NoSuchUpload</Code></Error>")
		case id == "sent" && q.Get("part-number-marker") == "0":
			_, _ = fmt.Fprintf(w, "<ListPartsResult><IsTruncated>true</IsTruncated>"+
				"<NextPartNumberMarker>1</NextPartNumberMarker><Part><PartNumber>1</PartNumber>"+
				"<LastModified>%s</LastModified></Part></ListPartsResult>", began)
		case id == "sent":
			_, _ = fmt.Fprintf(w, "<ListPartsResult><Part><PartNumber>2</PartNumber>"+
				"<LastModified>%s</LastModified></Part></ListPartsResult>", now.Format(time.RFC3339))
		default:
			_, _ = io.WriteString(w, "<ListPartsResult></ListPartsResult>")
		}
	})
	all, err := b.Uploads(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("Uploads = %v, %v; want two", all, err)
	}
	ages := map[string]time.Duration{"cut": time.Hour, "sent": 0}
	for _, u := range all {
		if got := now.Sub(u.Active); got != ages[u.ID] {
			t.Errorf("upload %s is %v old, want %v", u.ID, got, ages[u.ID])
		}
	}
	if err := b.Abort(t.Context(), all[0]); err != nil || aborted != "cut" {
		t.Errorf("Abort = %v, and %q was aborted; want cut", err, aborted)
	}
}
