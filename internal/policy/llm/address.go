package llm

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/collabui/collabui/fault"
)

// url returns the address of a path below the base URL. The base URL's query stays at the end.
func (c *Client) url(path string) string {
	base, query, versioned := strings.Cut(c.conf.BaseURL, "?")
	address := strings.TrimSuffix(base, "/") + path
	if versioned {
		address += "?" + query
	}

	return address
}

// versioned reports whether a base URL has a version of the API in its query, as deployments on Azure require.
func versioned(base string) bool {
	address, err := url.Parse(base)

	return err == nil && address.Query().Has("api-version")
}

// redirectFault returns an invalid fault for a request that a server redirects, with the base URL to which it leads. No
// redirect is followed, because the headers contain keys of this endpoint.
func (c *Client) redirectFault(to *http.Request, before []*http.Request) error {
	base := redactURL(c.conf.BaseURL)
	suffix := ""
	if address, err := url.Parse(base); err == nil {
		suffix = strings.TrimPrefix(before[0].URL.Path, address.Path)
	}

	found := url.URL{Scheme: to.URL.Scheme, Host: to.URL.Host, Path: to.URL.Path}
	whole := c.words(found.String())
	path, leads := strings.CutSuffix(strings.TrimSuffix(found.Path, "/"), suffix)
	found.Path = path
	if leads && strings.HasPrefix(found.Scheme, "http") && found.String() != base {
		return fault.New(fault.Invalid, "%s redirects: use %s as base_url", base, c.words(found.String()))
	}

	return fault.New(fault.Invalid, "%s redirects to %s, which is not an address of its API: correct base_url, or let "+
		"programs through a proxy that wants people to log in", base, whole)
}

// redactURL returns a base URL without its password and its query, for errors.
func redactURL(base string) string {
	base, _, _ = strings.Cut(base, "?")
	address, err := url.Parse(base)
	if err != nil || address.User == nil && strings.Contains(base, "@") {
		return "(an unreadable address)"
	}

	return address.Redacted()
}
