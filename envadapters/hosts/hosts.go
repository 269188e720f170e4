// Package hosts decides which hosts this process connects to on behalf of others: of specifications that name servers,
// and of pages that a browser shows. It checks the resolved address when it connects, so that neither a spelling nor a
// name server can lead elsewhere.
//
// It links no browser driver. It links no Temporal.
package hosts

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/collabui/collabui/fault"
)

// Env is the environment variable that lists the hosts that specifications may name, separated by commas: HOST, for all
// its ports, or HOST:PORT. A * stands for any part of a name. The loopback is reached only if the list names it.
// Link-local addresses and the metadata services of clouds are never reached.
const Env = "COLLABUI_HOSTS"

// The default values of Env.
const (
	Anywhere = "*,localhost" // for commands that a person runs, and for the workers of a single machine
	Beyond   = "*"           // for workers that a person starts: any host but the loopback
)

// List is a list of hosts that may be reached.
type List struct {
	variable string // the environment variable that a refusal names
	entries  []entry
}

// entry is a host of a list.
type entry struct {
	host string // a name or a pattern of names, in lower case, or an address
	port string // "": every port
}

// Parse reads a list that is the value of the environment variable. If an entry is a URL, its host and port are used.
func Parse(variable, list string) List {
	l := List{variable: variable}
	for e := range strings.SplitSeq(list, ",") {
		e = strings.TrimSpace(e)
		if _, rest, ok := strings.Cut(e, "://"); ok {
			e = rest
		}
		e, _, _ = strings.Cut(e[strings.LastIndexByte(e, '@')+1:], "/")
		host, port, err := net.SplitHostPort(e)
		if err != nil {
			host = strings.Trim(e, "[]")
			port = ""
		}
		if host != "" {
			l.entries = append(l.entries, entry{host: plain(host), port: port})
		}
	}

	return l
}

// Worker returns the list for servers that a specification names: the hosts of Env, the proxies of this process's
// environment, and the lists in more. It is read anew for every connection.
func Worker(more ...string) List {
	all := append([]string{cmp.Or(os.Getenv(Env), Anywhere)}, more...)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		all = append(all, os.Getenv(name))
	}

	return Parse(Env, strings.Join(all, ","))
}

// Hold restricts a transport to the hosts of a list, and limits the time to connect. The restriction extends to hosts
// behind a proxy as far as names and addresses allow, because the proxy resolves the names.
func Hold(transport *http.Transport, list func() List, limit time.Duration) {
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return list().Dial(ctx, network, address, limit)
	}
	proxy := transport.Proxy
	if proxy == nil {
		return
	}
	transport.Proxy = func(r *http.Request) (*url.URL, error) {
		if err := list().check(r.URL.Hostname(), Port(r.URL)); err != nil {
			return nil, err
		}

		return proxy(r)
	}
}

// refusal is the cause of an error about a host that this process refuses to connect to.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// Refused returns the refusal in the chain of a connection's error, a fault of kind Invalid, or nil if the error has
// another cause.
func Refused(err error) error {
	var r refusal
	if !errors.As(err, &r) {
		return nil
	}

	return r
}

// refuse returns a refusal with a formatted message.
func refuse(format string, args ...any) error {
	return refusal{fault.New(fault.Invalid, format, args...)}
}

// Dial connects to an address HOST:PORT if the list contains the host and none of the addresses that it tries is
// refused.
func (l List) Dial(ctx context.Context, network, address string, limit time.Duration) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refuse("connect to %q: expected HOST:PORT", address)
	}
	if err := l.check(host, port); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: limit, Control: func(_, resolved string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return fault.New(fault.Invalid, "connect to %s: %w", address, err)
		}

		return l.allow(at.Addr(), host, port)
	}}

	return dialer.DialContext(ctx, network, address)
}

// services are the names of clouds' metadata services. Their addresses are refused as well, but a proxy resolves names
// itself.
var services = []string{
	"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
}

// number matches the last part of an address in a form that some resolvers accept, such as 127.1, 0x7f000001 or
// 2130706433.
var number = regexp.MustCompile(`^([0-9]+|0x[0-9a-f]*)$`)

// check returns a fault of kind Invalid if the spelling of a host shows that it must not be reached.
func (l List) check(host, port string) error {
	name := plain(host)
	if at, err := netip.ParseAddr(name); err == nil {
		if err := l.allow(at, host, port); err != nil {
			return err
		}

		return l.lists(name, port, at)
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case slices.Contains(services, name):
		return l.never(host, name)
	case strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 }):
		return refuse("connect to %q: write the host in ASCII, as xn--…", host)
	case number.MatchString(last):
		return refuse("connect to %q: expected a name, or an address such as 192.0.2.1", host)
	case last == "localhost":
		return l.allow(netip.AddrFrom4([4]byte{127, 0, 0, 1}), host, port)
	}

	return l.lists(name, port, netip.Addr{})
}

// lists returns a fault of kind Invalid unless an entry contains the host. at is the host's address, if name is one.
func (l List) lists(name, port string, at netip.Addr) error {
	has := func(e entry) bool {
		if e.port != "" && e.port != port {
			return false
		}
		if listed, err := netip.ParseAddr(e.host); err == nil && listed == at {
			return true
		}
		ok, err := path.Match(e.host, name)

		return err == nil && ok
	}
	if inner(at).IsLoopback() || slices.ContainsFunc(l.entries, has) {
		return nil // for the loopback, allow has decided
	}

	return refuse("this process does not connect to %s: add %s to its list %s, and start it again",
		net.JoinHostPort(name, port), name, l.variable)
}

// metadata are addresses of clouds' metadata services that are not link-local.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("168.63.129.16"),   // Azure
}

// allow returns a fault of kind Invalid if an address of a host must not be reached.
func (l List) allow(at netip.Addr, host, port string) error {
	for _, ip := range []netip.Addr{at.Unmap().WithZone(""), inner(at)} {
		switch {
		case ip.IsLinkLocalUnicast(), slices.Contains(metadata, ip):
			return l.never(host, at.String())
		case (ip.IsLoopback() || ip.IsUnspecified()) && !l.loopback(port):
			return refuse("this process does not connect to %s (%s), which is itself: add %s to its "+
				"list %s, and start it again, if that is meant", net.JoinHostPort(host, port), at,
				net.JoinHostPort("localhost", port), l.variable)
		}
	}

	return nil
}

func (l List) never(host, at string) error {
	return refuse("this process never connects to %s (%s), because metadata services of clouds are "+
		"there and give keys: use another host; %s cannot allow it", host, at, l.variable)
}

// loopback reports whether the list names the loopback with this port.
func (l List) loopback(port string) bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		ip, err := netip.ParseAddr(e.host)

		return (e.host == "localhost" || err == nil && ip.IsLoopback()) && (e.port == "" || e.port == port)
	})
}

// Prefixes of IPv6 addresses that contain an IPv4 address, to which a router or the system may connect instead.
var (
	translated = []netip.Prefix{ // in the last four bytes
		netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), // NAT64
		netip.MustParsePrefix("::/96"), netip.MustParsePrefix("::ffff:0:0:0/96"),
	}
	sixToFour = netip.MustParsePrefix("2002::/16") // after the prefix
)

// inner returns the IPv4 address that an IPv6 address contains, or the address itself.
func inner(at netip.Addr) netip.Addr {
	at = at.Unmap().WithZone("")
	if !at.Is6() || at.IsLoopback() || at.IsUnspecified() {
		return at
	}
	raw := at.As16()
	if sixToFour.Contains(at) {
		return netip.AddrFrom4([4]byte(raw[2:6]))
	}
	if slices.ContainsFunc(translated, func(prefix netip.Prefix) bool { return prefix.Contains(at) }) {
		return netip.AddrFrom4([4]byte(raw[12:16]))
	}

	return at
}

// plain returns a host in lower case and without a dot at its end.
func plain(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// Port returns the port of a URL, or the default port of its scheme.
func Port(address *url.URL) string {
	switch {
	case address.Port() != "":
		return address.Port()
	case address.Scheme == "https" || address.Scheme == "wss":
		return "443"
	}

	return "80"
}
