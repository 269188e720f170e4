//go:build integration

package integration

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sys/unix"

	"github.com/collabui/collabui/test/kit/certificates"
	"github.com/collabui/collabui/test/kit/layout"
)

// roleKeys returns the account of a role at the S3 server.
func roleKeys(role string) (access, secret string) { return role, role + "-secret-0123456789" }

// TestEveryRoleHasItsOwnKeyOfTheStore runs a cluster in which every worker has exactly the permissions of its role in
// deploy/policies, and in which S3, Redis and the gateway speak TLS with a certificate of the team's own. A run ends,
// and every role is tried with every kind of object of a store.
func TestEveryRoleHasItsOwnKeyOfTheStore(t *testing.T) {
	t.Parallel()
	c := emptyCluster(t)
	users := c.file("users")
	accounts(t, users, layout.Roles)
	gate, engine := freeAddr(t), freeAddr(t)
	roomForPolicies(t, filepath.Join(c.data, "services", "s3"))
	c.services(gate, "--accounts", users)
	c.trainer()
	c.plain = c.variable("COLLABUI_S3")
	root := c.s3(s3Key, s3Key)
	if err := root.SetBucketPolicy(t.Context(), s3Bucket, bucketPolicy(t, layout.Roles)); err != nil {
		t.Fatal(err)
	}
	pair, cert, key := certificates.Issue(t, t.TempDir(), "team", nil)
	redis, connections := tunnel(t, strings.TrimPrefix(c.variable("COLLABUI_REDIS"), "redis://"), pair)
	c.env = append(c.env, "SSL_CERT_FILE="+cert, "COLLABUI_S3="+behindTLS(t, "http://"+c.plain, pair),
		"COLLABUI_POLICY=https://"+gate+"/v1", "COLLABUI_REDIS=rediss://"+redis)
	c.env = append(c.env, keysOf(layout.People)...)
	for role, args := range map[string][]string{
		"control": nil,
		"rollout": {"--tabs", "2"},
		"model":   nil,
		"gpu":     {"--gpus", "none", "--updates", "1", "--work", c.file("gpu")},
		"serve": {"--listen", gate, "--cert", cert, "--key", key, "--server", "http://" + engine, "--base-model", c.base,
			"--work", c.file("serve")},
	} {
		c.add(role, c.as(role, c.worker(append([]string{"--roles", role}, args...)...)))
	}
	c.hosts["serve"].start = append(c.hosts["serve"].start,
		func() *exec.Cmd { return c.process(c.program, "serve", engine, c.base) })
	t.Cleanup(c.down)
	for _, h := range c.hosts {
		h.up()
	}
	c.must("train", c.spec, "--detach")
	c.sound(5 * time.Minute)
	if connections.Load() == 0 {
		t.Error("nobody spoke TLS with Redis, want the workers to")
	}

	for o := range root.ListObjects(t.Context(), s3Bucket, minio.ListObjectsOptions{Recursive: true}) {
		if kinds := layout.Of(o.Key); o.Err != nil || len(kinds) != 1 {
			t.Errorf("%s is of the kinds %v, %v; want one: add it to test/kit/layout/kinds.go", o.Key, kinds, o.Err)
		}
	}
	clients := map[string]*minio.Client{}
	for _, role := range layout.Roles {
		clients[role] = c.s3(roleKeys(role))
	}
	for _, k := range layout.Kinds {
		for _, key := range k.Keys {
			if status := attempt(t, root, "put", key); status != http.StatusOK {
				t.Fatalf("put %s: status %d, want 200", key, status)
			}
			tryEveryRole(t, clients, k, key)
		}
	}
}

// tryEveryRole writes, reads and deletes an object with the keys of every role. Only people may delete it.
func tryEveryRole(t *testing.T, clients map[string]*minio.Client, k layout.Kind, key string) {
	t.Helper()
	for _, role := range layout.Roles { // people are the last, and delete it
		for _, x := range []struct {
			verb string
			may  bool
		}{{"put", k.May(role, true)}, {"get", k.May(role, false)}, {"delete", role == layout.People}} {
			want := http.StatusForbidden
			if x.may {
				want = http.StatusOK
			}
			if status := attempt(t, clients[role], x.verb, key); status != want {
				t.Errorf("%s: %s %s has status %d, want %d", role, x.verb, key, status, want)
			}
		}
	}
}

// roomForPolicies makes the folder of an S3 server, which keeps the policies of a bucket in an attribute of its folder.
// Some file systems have too little room for them, so the folder may be a link to a folder in memory.
func roomForPolicies(t *testing.T, folder string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, parent := range []string{filepath.Dir(folder), "/dev/shm"} {
		dir, err := os.MkdirTemp(parent, "s3-*")
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if unix.Setxattr(dir, "user.room", make([]byte, 32<<10), 0) != nil {
			continue
		}
		err = errors.Join(unix.Removexattr(dir, "user.room"), os.Symlink(dir, folder))
		if err != nil {
			t.Fatal(err)
		}

		return
	}
	t.Skip("no file system here lets a folder have attributes of 32 kB, as the policies of all roles need")
}

// accounts writes the accounts of roles in the form that the S3 server reads.
func accounts(t *testing.T, dir string, roles []string) {
	t.Helper()
	all := map[string]any{}
	for _, role := range roles {
		access, secret := roleKeys(role)
		all[access] = map[string]any{"access": access, "secret": secret, "role": "user"}
	}
	raw, err := json.Marshal(map[string]any{"accessAccounts": all})
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "users.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// bucketPolicy joins the policies of roles into one policy of the bucket: their statements, each for the account of its
// role.
func bucketPolicy(t *testing.T, roles []string) string {
	t.Helper()
	var all []map[string]any
	for _, role := range roles {
		raw, err := os.ReadFile("../../deploy/policies/" + role + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var p struct{ Statement []map[string]any }
		if err := json.Unmarshal(bytes.ReplaceAll(raw, []byte("BUCKET"), []byte(s3Bucket)), &p); err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Statement {
			access, _ := roleKeys(role)
			s["Principal"] = map[string]any{"AWS": []string{access}}
			delete(s, "Sid")
			all = append(all, s)
		}
	}
	out, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": all})
	if err != nil {
		t.Fatal(err)
	}

	return string(out)
}

// as returns a function that starts a process with the keys of a role.
func (c *cluster) as(role string, start func() *exec.Cmd) func() *exec.Cmd {
	return func() *exec.Cmd {
		all := c.env
		c.env = append(slices.Clip(all), keysOf(role)...)
		defer func() { c.env = all }()

		return start()
	}
}

// keysOf returns the variables with the keys of a role.
func keysOf(role string) []string {
	access, secret := roleKeys(role)

	return []string{"COLLABUI_S3_ACCESS_KEY=" + access, "COLLABUI_S3_SECRET_KEY=" + secret}
}

// s3 returns a client of the store.
func (c *cluster) s3(access, secret string) *minio.Client {
	c.t.Helper()
	client, err := minio.New(c.plain, &minio.Options{
		Creds: credentials.NewStaticV4(access, secret, ""), Region: "us-east-1", MaxRetries: 1,
	})
	if err != nil {
		c.t.Fatal(err)
	}

	return client
}

// behindTLS returns the https address of a server that passes requests on, with their Host, which S3 clients sign.
func behindTLS(t *testing.T, to string, pair tls.Certificate) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}})
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.StartTLS()
	t.Cleanup(s.Close)

	return s.URL
}

// tunnel listens with TLS at an address of its own, and forwards the contents of connections. It counts its sound
// connections.
func tunnel(t *testing.T, to string, pair tls.Certificate) (addr string, sound *atomic.Int32) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	sound = new(atomic.Int32)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				if in.(*tls.Conn).Handshake() != nil {
					return
				}
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer out.Close()
				sound.Add(1)
				go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()

	return l.Addr().String(), sound
}

// attempt returns the status of a request.
func attempt(t *testing.T, c *minio.Client, verb, key string) int {
	t.Helper()
	var err error
	switch verb {
	case "get":
		_, err = c.StatObject(t.Context(), s3Bucket, key, minio.StatObjectOptions{})
	case "put":
		_, err = c.PutObject(t.Context(), s3Bucket, key, strings.NewReader("x"), 1, minio.PutObjectOptions{})
	case "delete":
		err = c.RemoveObject(t.Context(), s3Bucket, key, minio.RemoveObjectOptions{})
	}
	if err == nil {
		return http.StatusOK
	}

	return minio.ToErrorResponse(err).StatusCode
}
