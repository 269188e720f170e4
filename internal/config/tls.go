package config

import (
	"crypto/tls"
	"crypto/x509"
	"sync"

	"github.com/collabui/collabui/fault"
)

// TLS specifies how to connect to a Temporal server on another machine. Any of its fields turns TLS on.
type TLS struct {
	On   bool   // use the system's root certificates and no client certificate
	CA   string // file with the only root certificates that are trusted
	Cert string // file with the client's certificate; it needs Key
	Key  string // file with the private key of Cert
	Name string // name in the server's certificate, if it differs from the host
}

// TLS returns the configuration of the connection to Temporal, or nil without TLS. A file that cannot be read, or that
// has other contents, is an invalid fault that names the file and its variable. The client's certificate is read again
// for every connection.
func (e Endpoints) TLS() (*tls.Config, error) {
	files := e.TemporalTLS
	if files == (TLS{}) && e.TemporalKey == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: files.Name}

	if files.CA != "" {
		pem, err := read(EnvTLSCA, files.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fault.New(fault.Invalid, "%s: %s holds no PEM certificate", EnvTLSCA, files.CA)
		}
	}

	if files.Cert == "" && files.Key == "" {
		return config, nil
	}
	pair, err := files.pair()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if now, err := files.pair(); err == nil {
			pair = now // it was renewed; while it is being replaced, the previous one is used
		}

		return &pair, nil
	}

	return config, nil
}

// pair reads the client's certificate and its private key.
func (t TLS) pair() (tls.Certificate, error) {
	if t.Cert == "" || t.Key == "" {
		return tls.Certificate{}, fault.New(fault.Invalid,
			"a client certificate for Temporal needs its private key: set both %s and %s", EnvTLSCert, EnvTLSKey)
	}
	cert, err := read(EnvTLSCert, t.Cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := read(EnvTLSKey, t.Key)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return pair, fault.New(fault.Invalid, "%s (%s) and %s (%s) are not a certificate and its private key: %w",
			EnvTLSCert, t.Cert, EnvTLSKey, t.Key, err)
	}

	return pair, nil
}
