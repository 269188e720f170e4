package httpd

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
// the loopback, and requests of other sites and of other services of this machine, but for those of some origins, such
// as http://127.0.0.1:8080. A link of another site leads to / only, and into no frame. Programs send none of what this
// looks at. Neither does a browser of before 2023 for a link or an image: it gets an answer that the page cannot read.
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
// Browsers say so by Sec-Fetch-Site, or older ones and WebSockets by Origin.
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

// source returns the origin of the page that asks. A link has its page in Referer, which a page can leave out, but not
// choose.
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
