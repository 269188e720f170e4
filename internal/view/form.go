package view

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/collabui/collabui/internal/process/disk"
)

// A form makes a report of the documents that fill puts into it.
type form func(fill func(put func(path, body string) error) error) error

// folder makes a folder with a file per document.
func folder(dir string) form {
	return func(fill func(put func(path, body string) error) error) error {
		if err := os.CopyFS(dir, site()); err != nil {
			return err
		}

		return fill(func(path, body string) error {
			text := fmt.Appendf(nil, "collabui.unpack(%s,%q)\n", quoted(path), body)

			return disk.Write(filepath.Join(dir, "data"), path+".js", text)
		})
	}
}

// page makes one file of HTML with everything inside: scripts and style by their hashes, documents as data.
func page(file string) form {
	return func(fill func(put func(path, body string) error) error) error {
		text, err := inlined(site())
		if err != nil {
			return err
		}
		head, tail, _ := strings.Cut(text, "<!-- documents -->")
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()

		var mu sync.Mutex
		w := bufio.NewWriter(f)
		_, _ = w.WriteString(head) // bufio keeps the first error
		err = fill(func(path, body string) error {
			mu.Lock()
			defer mu.Unlock()
			_, err := fmt.Fprintf(w, "<script type=\"text/plain\" data-document=\"%s\">%s</script>\n",
				html.EscapeString(path), body)

			return err
		})
		if err != nil {
			return err
		}
		_, _ = w.WriteString(tail)
		if err := w.Flush(); err != nil {
			return err
		}

		return f.Close()
	}
}

var (
	styleLink  = regexp.MustCompile(`<link rel="stylesheet" href="([^"]+)">`)
	scriptLink = regexp.MustCompile(`<script src="([^"]+)"></script>`)
)

// inlined returns the page with its style and scripts inside. The page's own policy allows them by hash.
func inlined(pages fs.FS) (string, error) {
	raw, err := fs.ReadFile(pages, "index.html")
	if err != nil {
		return "", err
	}
	text := string(raw)
	for _, x := range []struct {
		link      *regexp.Regexp
		tag, rule string
	}{{styleLink, "style", "style-src"}, {scriptLink, "script", "script-src"}} {
		hashes := ""
		text = x.link.ReplaceAllStringFunc(text, func(link string) string {
			body, of := fs.ReadFile(pages, x.link.FindStringSubmatch(link)[1])
			if of != nil {
				err = of
			}
			sum := sha256.Sum256(body)
			hashes += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"

			return "<" + x.tag + ">" + string(body) + "</" + x.tag + ">"
		})
		text = strings.Replace(text, x.rule+" 'self'", x.rule+hashes, 1)
	}

	return text, err
}
