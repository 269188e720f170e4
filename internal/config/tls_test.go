package config

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/test/kit/certificates"
)

// issue makes a certificate signed by ca, or by itself, and writes it and its key to files.
func issue(t *testing.T, name string, ca *tls.Certificate) (pair tls.Certificate, cert, key string) {
	t.Helper()

	return certificates.Issue(t, t.TempDir(), name, ca)
}

// serve greets every client that has a certificate of ca, and returns its address.
func serve(t *testing.T, ca, server tls.Certificate) string {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })

	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func(c net.Conn) {
				_, _ = c.Write([]byte("hello"))
				_ = c.Close()
			}(c)
		}
	}()

	return l.Addr().String()
}

// greet connects and reads the greeting.
func greet(addr string, c *tls.Config) error {
	conn, err := tls.Dial("tcp", addr, c)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.Read(make([]byte, 5))

	return err
}

func TestTemporalOverTLS(t *testing.T) {
	ca, caFile, _ := issue(t, "ca", nil)
	_, otherFile, _ := issue(t, "other", nil)
	server, _, _ := issue(t, "temporal.test", &ca)
	_, cert, key := issue(t, "client", &ca)
	addr := serve(t, ca, server)

	for _, c := range []struct {
		name string
		tls  TLS
		want string // part of the error, or "" if the connection succeeds
	}{
		{"all given", TLS{CA: caFile, Cert: cert, Key: key, Name: "temporal.test"}, ""},
		{"other root", TLS{CA: otherFile, Cert: cert, Key: key, Name: "temporal.test"}, "unknown authority"},
		{"roots of the system", TLS{Cert: cert, Key: key, Name: "temporal.test"}, "unknown authority"},
		{"other name", TLS{CA: caFile, Cert: cert, Key: key, Name: "elsewhere.test"}, "not elsewhere.test"},
		{"no client certificate", TLS{CA: caFile, Name: "temporal.test"}, "certificate required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(EnvTLSCA, c.tls.CA)
			t.Setenv(EnvTLSCert, c.tls.Cert)
			t.Setenv(EnvTLSKey, c.tls.Key)
			t.Setenv(EnvTLSName, c.tls.Name)
			e, err := FromEnv()
			if err != nil {
				t.Fatal(err)
			}
			conf, err := e.TLS()
			if err != nil {
				t.Fatal(err)
			}

			err = greet(addr, conf)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("the connection ended with %v, want %q", err, c.want)
			}
		})
	}
}

func TestAnyFieldTurnsTLSOn(t *testing.T) {
	for _, c := range []struct {
		name      string
		endpoints Endpoints
		want      bool
	}{
		{"nothing", Endpoints{}, false},
		{"an API key", Endpoints{TemporalKey: "k"}, true},
		{"the switch", Endpoints{TemporalTLS: TLS{On: true}}, true},
		{"a server name", Endpoints{TemporalTLS: TLS{Name: "n"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf, err := c.endpoints.TLS()
			if err != nil {
				t.Fatal(err)
			}
			if got := conf != nil; got != c.want {
				t.Fatalf("TLS is on: %v, want %v", got, c.want)
			}
			if conf != nil && (conf.RootCAs != nil || conf.ServerName != c.endpoints.TemporalTLS.Name) {
				t.Errorf("TLS = %+v, want the roots of the system and the name %q",
					conf, c.endpoints.TemporalTLS.Name)
			}
		})
	}
}

func TestUnreadableCertificatesNameFileAndVariable(t *testing.T) {
	_, cert, key := issue(t, "client", nil)
	_, _, otherKey := issue(t, "other", nil)

	for _, c := range []struct {
		name string
		tls  TLS
		want []string
	}{
		{"no CA file", TLS{CA: "/nowhere.pem"}, []string{EnvTLSCA, "/nowhere.pem"}},
		{"a key as CA", TLS{CA: otherKey}, []string{EnvTLSCA, otherKey, "no PEM certificate"}},
		{"no key", TLS{Cert: cert}, []string{EnvTLSCert, EnvTLSKey}},
		{"no certificate", TLS{Key: key}, []string{EnvTLSCert, EnvTLSKey}},
		{"no certificate file", TLS{Cert: "/nowhere.pem", Key: key}, []string{EnvTLSCert, "/nowhere.pem"}},
		{"no key file", TLS{Cert: cert, Key: "/nowhere.key"}, []string{EnvTLSKey, "/nowhere.key"}},
		{"another's key", TLS{Cert: cert, Key: otherKey}, []string{EnvTLSCert, EnvTLSKey, cert, otherKey}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Endpoints{TemporalTLS: c.tls}.TLS()
			wantInvalid(t, err, c.want...)
		})
	}
}

func TestImpossibleSettingsNameTheVariable(t *testing.T) {
	t.Run("switch", func(t *testing.T) {
		t.Setenv(EnvTLS, "perhaps")
		_, err := FromEnv()
		wantInvalid(t, err, EnvTLS)
	})
	t.Run("secret", func(t *testing.T) {
		t.Setenv(EnvTemporalKey+"_FILE", "/nowhere.key")
		_, err := FromEnv()
		wantInvalid(t, err, EnvTemporalKey+"_FILE", "/nowhere.key")
	})
}

// wantInvalid checks that err is an invalid fault that contains all words.
func wantInvalid(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != fault.Invalid {
		t.Fatalf("the error is %v, want an invalid fault", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error is %q, want it to contain %q", err, word)
		}
	}
}
