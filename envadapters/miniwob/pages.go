package miniwob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// fix is the command that downloads the official pages.
const fix = "pip download miniwob==1.1.0 --no-deps && " +
	"unzip -q miniwob-1.1.0-py3-none-any.whl -d miniwob-pages"

// inside are the possible places of the pages below the folder that a user names: the folder itself, or below the root
// of the package or of a checkout.
var inside = []string{".", "html", "miniwob/html"}

// openPages finds the folder that contains miniwob/*.html and core/. The returned root gives no access to anything
// outside of that folder.
func openPages(data string) (*os.Root, error) {
	if data == "" {
		return nil, fault.New(fault.Invalid,
			"miniwob needs the folder of the official pages as its data; to download it: %s", fix)
	}

	for _, in := range inside {
		dir := filepath.Join(data, filepath.FromSlash(in))
		if _, err := os.Stat(filepath.Join(dir, "core", "core.js")); err != nil {
			continue
		}
		if found, err := filepath.Glob(filepath.Join(dir, "miniwob", "*.html")); err == nil && len(found) > 0 {
			return os.OpenRoot(dir)
		}
	}

	return nil, fault.New(fault.Invalid, "%q holds no MiniWoB++ pages: expected a folder with miniwob/*.html and "+
		"core/core.js, or the root of the package or checkout around it; to download one: %s", data, fix)
}

// tasks lists the names of the tasks for which the folder has pages, sorted. An empty page is a fault of kind Invalid.
// tasks leaves out the folder flight: its pages are copies of airlines' sites, under their own licences.
func tasks(pages fs.FS) ([]string, error) {
	found, err := fs.Glob(pages, "miniwob/*.html")
	if err != nil {
		return nil, err
	}

	found = slices.DeleteFunc(found, envadapters.Stray)
	for i, f := range found {
		if page, err := fs.ReadFile(pages, f); err == nil { // a page that cannot be read fails when it is played
			if err := envadapters.CheckData(f, page); err != nil {
				return nil, err
			}
		}
		found[i] = strings.TrimSuffix(path.Base(f), ".html")
	}

	slices.Sort(found)

	return found, nil
}

// digest returns a digest, as 16 hexadecimal digits, of the names and contents of all pages, scripts and styles that a
// task may use.
func digest(pages fs.FS) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(pages, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name == "flight" {
			return fs.SkipDir
		}
		if d.IsDir() || envadapters.Stray(name) || !slices.Contains([]string{".html", ".js", ".css"}, path.Ext(name)) {
			return nil
		}
		raw, err := fs.ReadFile(pages, name)
		_, _ = fmt.Fprintf(h, "%s %d\n", name, len(raw))
		_, _ = h.Write(raw)
		return err
	})

	if err != nil {
		return "", fmt.Errorf("read the MiniWoB++ pages: %w", err)
	}

	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// The adapter's own page around the pages, and the scripts that run in every page.
const (
	around = "<!DOCTYPE html><meta charset=utf-8><title>MiniWoB++</title><style>body { margin: 0 } " +
		"iframe { position: fixed; left: 0; top: 0; width: 100%; height: 100%; border: 0 }</style>" +
		"<body><script src=frame.js></script>"
	aroundPath = "/collabui/frame.html"
)

// serve serves the folder's files but no listings, and the adapter's own files.
func serve(pages fs.FS) http.Handler {
	own := map[string]string{
		aroundPath: around, "/collabui/frame.js": frameJS, "/collabui/page.js": clockJS + observeJS,
	}
	files := http.FileServerFS(pages)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := own[r.URL.Path]; ok {
			http.ServeContent(w, r, r.URL.Path, time.Time{}, strings.NewReader(text))
			return
		}
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "max-age=3600")
		files.ServeHTTP(w, r)
	})
}
