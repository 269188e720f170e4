package httpd

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Guard wraps the handler of a server that listens on the loopback only. Every page that is open in a person's browser
// could reach such a server. Guard refuses requests for another host, which a page sends after its name was rebound to
// the loopback, and requests from other sites and from other services of this machine, except from the given origins,
// such as http://127.0.0.1:8080. A link from another site may lead to / only, and not into a frame. Programs send none
// of the headers that Guard reads. Browsers from before 2023 send none for a link or an image either: they receive an
// answer that the page cannot read.
func Guard(handler http.Handler, origins ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !IsLoopback(r.Host):
			http.Error(w, "this server answers only as localhost", http.StatusMisdirectedRequest)
		case foreign(r) && (source(r) == "" || !slices.Contains(origins, source(r))):
			http.Error(w, "this server answers no page of another site: to open the page, type its address",
				http.StatusForbidden)
		default:
			handler.ServeHTTP(w, r)
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

// foreign reports whether a browser sent the request for a page of another origin, unless a person follows a link to /.
// Browsers report this in Sec-Fetch-Site; older browsers, and WebSockets, in Origin.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site":
		return !followed(r) || r.URL.Path != "/"
	case "same-site": // another service of this machine
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	address, err := url.Parse(origin)

	return err != nil || !strings.EqualFold(address.Host, r.Host)
}

// followed reports whether the request is a link that opens in a tab.
func followed(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

// source returns the origin of the page that made the request. For a link it is in Referer, which the page can leave
// out, but not choose.
func source(r *http.Request) string {
	if !followed(r) {
		return r.Header.Get("Origin")
	}
	address, err := url.Parse(r.Referer())
	if err != nil {
		return ""
	}

	return address.Scheme + "://" + address.Host
}
