// Package nameserver is a name server for tests of code that resolves names.
//
// It links no browser driver. It links no Temporal.
package nameserver

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Start lets this process resolve some names to addresses, and no others, until the test ends. Names are complete and
// in lower case, such as "site.example".
func Start(tb testing.TB, addresses map[string]string) {
	tb.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = server.Close() })
	go func() {
		question := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			if raw, err := answer(question[:n], addresses); err == nil {
				_, _ = server.WriteTo(raw, from)
			}
		}
	}()

	original := net.DefaultResolver
	tb.Cleanup(func() { net.DefaultResolver = original })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer

		return dialer.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func answer(query []byte, addresses map[string]string) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(query); err != nil {
		return nil, err
	}
	message.Response = true
	message.Authoritative = true
	message.Additionals = nil
	question := message.Questions[0]
	at, known := addresses[strings.ToLower(strings.TrimSuffix(question.Name.String(), "."))]
	if !known {
		message.RCode = dnsmessage.RCodeNameError

		return message.Pack()
	}

	head := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 1}
	switch ip := netip.MustParseAddr(at); {
	case question.Type == dnsmessage.TypeA && ip.Is4():
		message.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: ip.As4()}}}
	case question.Type == dnsmessage.TypeAAAA && ip.Is6():
		message.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}}}
	}

	return message.Pack()
}
