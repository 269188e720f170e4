package llm

import (
	"net/url"
	"strings"
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

// versioned reports whether a base URL names a version of the API in its query, as deployments on Azure want.
func versioned(base string) bool {
	u, err := url.Parse(base)

	return err == nil && u.Query().Has("api-version")
}

// redacted returns a base URL without its password and its query, for errors.
func redacted(base string) string {
	base, _, _ = strings.Cut(base, "?")
	u, err := url.Parse(base)
	if err != nil || u.User == nil && strings.Contains(base, "@") {
		return "(an unreadable address)"
	}

	return u.Redacted()
}
