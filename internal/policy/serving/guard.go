package serving

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Guard wraps the handler of a server that listens on the loopback only, where the browser of a person is a way in for
// every page that is open there. It refuses requests for another host, which a page sends after its name was bound to
// the loopback, and requests across sites but for those of some origins, such as http://127.0.0.1:8080. Programs send
// neither. A link that a person follows is let through.
func Guard(h http.Handler, origins ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !IsLoopback(r.Host):
			http.Error(w, "this server answers only as localhost", http.StatusMisdirectedRequest)
		case foreign(r) && !slices.Contains(origins, r.Header.Get("Origin")):
			http.Error(w, "this server answers no page of another site", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// IsLoopback reports whether HOST or HOST:PORT is localhost or a loopback address.
func IsLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)

	return err == nil && ip.IsLoopback()
}

// foreign reports whether a browser sent the request for a page of another site. Browsers say so by Sec-Fetch-Site, or
// older ones and WebSockets by Origin.
func foreign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		follows := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Method == http.MethodGet

		return !follows
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)

	return err != nil || !strings.EqualFold(u.Host, r.Host)
}
