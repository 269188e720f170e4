package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
)

func TestEnvironRoundTrip(t *testing.T) {
	for _, s3 := range []string{"127.0.0.1:9000", "https://s3.example.com", "http://minio:9000"} {
		var e Endpoints
		e.Temporal, e.Namespace, e.Redis, e.Policy = "t:7233", "ns", "redis://:pw@r:6379", "http://p/v1"
		e.SetStore(s3)
		e.Store.Bucket, e.Store.Access, e.Store.Secret = "b", "a", "s"
		e.PolicyKey, e.TemporalKey = "p", "k"
		e.TemporalTLS = TLS{On: s3[0] == 'h', CA: "ca.pem", Cert: "c.pem", Key: "k.pem", Name: "n"}
		for _, x := range e.secrets() {
			t.Setenv(x.name+"_FILE", "/nowhere") // the parent's; its content is handed on
		}
		for _, kv := range e.Environ() {
			k, v, _ := strings.Cut(kv, "=")
			t.Setenv(k, v)
		}
		got, err := FromEnv()
		if err != nil || got != e || got.Store.TLS != strings.HasPrefix(s3, "https://") {
			t.Errorf("%s: %+v, want %+v (%v)", s3, got, e, err)
		}
		var again Endpoints
		if again.SetStore(e.StoreURL()); again.Store.TLS != e.Store.TLS || again.Store.Endpoint != e.Store.Endpoint {
			t.Errorf("%s: %q does not lead back", s3, e.StoreURL())
		}
	}
}

func TestSecretsComeFromFilesAndStayOutOfSight(t *testing.T) {
	f := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(f, []byte("k-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvSecret+"_FILE", f)
	if e, err := FromEnv(); err != nil || e.Store.Secret != "k-1" {
		t.Error(e, err)
	}
	for in, want := range map[string]string{"redis://:pw@h:1/0": "redis://:xxxxx@h:1/0", "127.0.0.1:9000": "127.0.0.1:9000", "redis://a:pw@h:x y": "(an unreadable address)", "http://h/v1": "http://h/v1", "": "",
		"redis://:p,w,pw@h:1": "redis://:xxxxx@h:1", "http://a:pw@h/v1, https://b:pw@g/v1 ,http://f/v1": "http://a:xxxxx@h/v1,https://b:xxxxx@g/v1,http://f/v1",
		"http://h/v1,a:pw@g/v1": "(an unreadable address)", "a:pw@g:1/v1": "(an unreadable address)", "http://h/v1,http://pw@g:x y": "http://h/v1,(an unreadable address)"} {
		if got := Redacted(in); got != want || strings.Contains(got, "pw") {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestPoliciesAreAList(t *testing.T) {
	for in, want := range map[string][]string{"": nil, " , ": nil, "http://a/v1": {"http://a/v1"}, " http://a/v1/ ,, http://b/v1,http://a/v1": {"http://a/v1", "http://b/v1"}} {
		e := Endpoints{Temporal: "t", Policy: in}
		e.Store.Endpoint = "s"
		if got := e.Policies(); !slices.Equal(got, want) || (e.Complete() == nil) != (want != nil) {
			t.Errorf("%q: %q, %v", in, got, e.Complete())
		}
	}
}

// issue makes a certificate signed by ca, or by itself, and writes it and its key to files.
func issue(t *testing.T, name string, ca *tls.Certificate) (pair tls.Certificate, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	x := &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: ca == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	parent, by := x, any(private)
	if ca != nil {
		parent, by = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, x, parent, &private.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	c, k := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	cert, key = filepath.Join(t.TempDir(), name+".pem"), filepath.Join(t.TempDir(), name+".key")
	if os.WriteFile(cert, c, 0o600) != nil || os.WriteFile(key, k, 0o600) != nil {
		t.Fatal("certificates cannot be written")
	}
	if pair, err = tls.X509KeyPair(c, k); err != nil {
		t.Fatal(err)
	}
	return pair, cert, key
}

func TestTemporalOverTLS(t *testing.T) {
	ca, caFile, caKey := issue(t, "ca", nil)
	_, otherFile, _ := issue(t, "other", nil)
	server, _, _ := issue(t, "temporal.test", &ca)
	_, cert, key := issue(t, "client", &ca)
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func(c net.Conn) { _, _ = c.Write([]byte("hello")); _ = c.Close() }(c)
		}
	}()
	greet := func(c *tls.Config) error {
		conn, err := tls.Dial("tcp", l.Addr().String(), c)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		_, err = conn.Read(make([]byte, 5))
		return err
	}
	for _, x := range []struct{ ca, cert, key, name, want string }{
		{caFile, cert, key, "temporal.test", ""},
		{otherFile, cert, key, "temporal.test", "unknown authority"},
		{"", cert, key, "temporal.test", "unknown authority"}, // the system's roots
		{caFile, cert, key, "elsewhere.test", "not elsewhere.test"},
		{caFile, "", "", "temporal.test", "certificate required"},
	} {
		for k, v := range map[string]string{EnvTLSCA: x.ca, EnvTLSCert: x.cert, EnvTLSKey: x.key, EnvTLSName: x.name} {
			t.Setenv(k, v)
		}
		e, err := FromEnv()
		if err != nil {
			t.Fatal(err)
		}
		c, err := e.TLS()
		if err != nil {
			t.Fatal(err)
		}
		if err = greet(c); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v", x, err)
		}
	}
	for i, e := range []Endpoints{{}, {TemporalKey: "k"}, {TemporalTLS: TLS{On: true}}, {TemporalTLS: TLS{Name: "n"}}} {
		if c, err := e.TLS(); err != nil || (c != nil) != (i > 0) || c != nil && (c.RootCAs != nil || c.ServerName != e.TemporalTLS.Name) {
			t.Errorf("%+v: %+v, %v", e, c, err)
		}
	}
	for _, x := range []struct {
		tls   TLS
		words []string
	}{
		{TLS{CA: "/nowhere.pem"}, []string{EnvTLSCA, "/nowhere.pem"}}, {TLS{CA: caKey}, []string{EnvTLSCA, caKey, "no PEM certificate"}},
		{TLS{Cert: cert}, []string{EnvTLSCert, EnvTLSKey}}, {TLS{Key: key}, []string{EnvTLSCert, EnvTLSKey}},
		{TLS{Cert: "/nowhere.pem", Key: key}, []string{EnvTLSCert, "/nowhere.pem"}}, {TLS{Cert: cert, Key: "/nowhere.key"}, []string{EnvTLSKey, "/nowhere.key"}},
		{TLS{Cert: cert, Key: caKey}, []string{EnvTLSCert, EnvTLSKey, cert, caKey}},
	} {
		_, err := Endpoints{TemporalTLS: x.tls}.TLS()
		if err == nil || fault.KindOf(err) != fault.Invalid || slices.ContainsFunc(x.words, func(w string) bool { return !strings.Contains(err.Error(), w) }) {
			t.Errorf("%+v: %v", x.tls, err)
		}
	}
	t.Setenv(EnvTLS, "perhaps")
	if _, err := FromEnv(); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), EnvTLS) {
		t.Error(err)
	}
	t.Setenv(EnvTLS, "")
	t.Setenv(EnvTemporalKey+"_FILE", "/nowhere.key")
	if _, err := FromEnv(); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), EnvTemporalKey+"_FILE") || !strings.Contains(err.Error(), "/nowhere.key") {
		t.Error(err)
	}
}
