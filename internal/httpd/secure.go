package httpd

import (
	"crypto/tls"
	"net"

	"github.com/collabui/collabui/fault"
)

// TLS contains the files with a server's certificate and its private key, in PEM. If both are empty, the server speaks
// plain HTTP.
type TLS struct{ Cert, Key string }

// secured is a listener that speaks TLS.
type secured struct{ net.Listener }

// secure makes a listener speak TLS. The files are read again for every connection, so that a renewed certificate needs
// no restart. Files that cannot be read, or only one of the two, are an invalid fault.
func (t TLS) secure(listener net.Listener) (net.Listener, error) {
	if t == (TLS{}) {
		return listener, nil
	}
	if t.Cert == "" || t.Key == "" {
		return nil, fault.New(fault.Invalid, "a server's certificate needs its private key: give both --cert and --key")
	}
	last, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fault.New(fault.Invalid, "--cert %s and --key %s are not a certificate and its private key: %w",
			t.Cert, t.Key, err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			now, err := tls.LoadX509KeyPair(t.Cert, t.Key)
			if err != nil {
				return &last, nil // the certificate is being replaced
			}

			return &now, nil
		},
	}

	return secured{tls.NewListener(listener, config)}, nil
}

// URL returns the address of a listener. scheme is http or ws, and gets an s with TLS.
func URL(listener net.Listener, scheme string) string {
	if _, ok := listener.(secured); ok {
		scheme += "s"
	}

	return scheme + "://" + listener.Addr().String()
}
