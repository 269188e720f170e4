package llm

import (
	"regexp"
	"sync"
	"time"
)

// A web page in place of an answer passes if a proxy shows it during a short failure of the server behind it. It does
// not pass by itself if nothing but pages came for lastingTime, in at least lastingPages answers, or if people log in
// on it.
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

// pages counts the web pages that came from a server since its last other answer. Safe for concurrent use.
type pages struct {
	mu    sync.Mutex
	first time.Time
	count int
}

// note notes an answer with a status of success, and reports whether it is a page that does not pass by itself.
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
