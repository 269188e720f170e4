package llm

import (
	"regexp"
	"sync"
	"time"
)

// A web page in place of an answer may come from a proxy during a short failure of the server behind it, which passes.
// It does not pass by itself if the server has sent only pages for lastingTime, in at least lastingPages answers, or if
// the page is a login form.
const (
	lastingTime  = 5 * time.Minute
	lastingPages = 3
)

var (
	webPage   = regexp.MustCompile(`(?is)^[\s\x{feff}]*(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body)\b`)
	loginPage = regexp.MustCompile(`(?i)<input[^>]*\btype\s*=\s*["']?password\b`)
)

// isPage reports whether a body is a web page.
func isPage(body []byte) bool { return webPage.Match(body) }

// pages counts the web pages that a server has sent since its last other answer. It is safe for concurrent use.
type pages struct {
	mu    sync.Mutex
	first time.Time
	count int
}

// note records an answer with a status of success, and reports whether it is a page that does not pass by itself.
func (p *pages) note(body []byte, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	if !isPage(body) {
		p.count = 0

		return false
	}
	if p.count == 0 {
		p.first = now
	}
	p.count++

	return loginPage.Match(body) || p.count >= lastingPages && now.Sub(p.first) >= lastingTime
}
