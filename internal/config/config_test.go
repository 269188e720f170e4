package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

func TestEnvironIsTheInverseOfFromEnv(t *testing.T) {
	for _, s3 := range []string{"127.0.0.1:9000", "https://s3.example.com", "http://minio:9000"} {
		t.Run(s3, func(t *testing.T) {
			e := Endpoints{
				Temporal: "t:7233", TemporalKey: "k", Namespace: "ns",
				Redis: "redis://:pw@r:6379", Policy: "http://p/v1", PolicyKey: "p",
				TemporalTLS: TLS{On: s3[0] == 'h', CA: "ca.pem", Cert: "c.pem", Key: "k.pem", Name: "n"},
			}
			e.SetStore(s3)
			e.Store.Bucket, e.Store.Access, e.Store.Secret, e.Store.Token = "b", "a", "s", "t"
			e.Store.Region, e.Store.Style = "eu-central-1", store.StyleVirtual

			for _, x := range e.secrets() {
				t.Setenv(x.name+"_FILE", "/nowhere") // the parent's variable; the child gets the secret itself
			}
			for _, kv := range e.Environ() {
				k, v, _ := strings.Cut(kv, "=")
				t.Setenv(k, v)
			}

			got, err := FromEnv()
			if err != nil || !reflect.DeepEqual(got, e) {
				t.Errorf("FromEnv = %+v, %v; want %+v", got, err, e)
			}
			if want := strings.HasPrefix(s3, "https://"); got.Store.TLS != want {
				t.Errorf("TLS of the store = %v, want %v", got.Store.TLS, want)
			}
			var again Endpoints
			again.SetStore(e.StoreURL())
			if again.Store.TLS != e.Store.TLS || again.Store.Endpoint != e.Store.Endpoint {
				t.Errorf("SetStore(%q) = %+v, want %+v", e.StoreURL(), again.Store, e.Store)
			}
		})
	}
}

func TestSecretsComeFromFiles(t *testing.T) {
	f := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(f, []byte("k-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvSecret+"_FILE", f)

	e, err := FromEnv()
	if err != nil || e.Store.Secret != "k-1" {
		t.Errorf("the secret key = %q, %v; want k-1", e.Store.Secret, err)
	}
}

func TestTheRegionIsOursBeforeThatOfAWSsPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		ours, region, fallback string
		want                   string
	}{
		"ours":            {"a", "b", "c", "a"},
		"of AWS":          {"", "b", "c", "b"},
		"the default one": {"", "", "c", "c"},
		"none":            {"", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(EnvRegion, c.ours)
			t.Setenv("AWS_REGION", c.region)
			t.Setenv("AWS_DEFAULT_REGION", c.fallback)
			e, err := FromEnv()
			if err != nil || e.Store.Region != c.want {
				t.Errorf("the region = %q, %v; want %q", e.Store.Region, err, c.want)
			}
			if e.SetLocalStore("127.0.0.1:9000", "a", "s"); e.Store.Region != "" || e.Store.Bucket != defaultName {
				t.Errorf("the local store = %+v, want no region and the bucket of before", e.Store)
			}
		})
	}
}

func TestAStoreThatCannotBeMeantIsRefused(t *testing.T) {
	for name, c := range map[string]store.Config{
		"one key alone":   {Endpoint: "h:1", Access: "a"},
		"the other alone": {Endpoint: "h:1", Secret: "s"},
		"no such style":   {Endpoint: "h:1", Style: "dns"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := (Endpoints{Store: c}).OpenStore(); fault.KindOf(err) != fault.Invalid {
				t.Errorf("OpenStore = %v, want an invalid fault", err)
			}
		})
	}
}

func TestRedactedAddressesHoldNoPassword(t *testing.T) {
	const unreadable = "(an unreadable address)"
	for in, want := range map[string]string{
		"":                    "",
		"127.0.0.1:9000":      "127.0.0.1:9000",
		"http://h/v1":         "http://h/v1",
		"redis://:pw@h:1/0":   "redis://:xxxxx@h:1/0",
		"redis://:p,w,pw@h:1": "redis://:xxxxx@h:1",

		"rediss+cluster://u:pw@a:1?addr=b:2":               "rediss+cluster://u:xxxxx@a:1?addr=b:2",
		"redis+sentinel://a:1/0?master_name=m&password=pw": "redis+sentinel://a:1/0?master_name=m&password=xxxxx",
		"redis://h:1?password=pw&protocol=3":               "redis://h:1?password=xxxxx&protocol=3",
		"https://h/v1?api_key=pw":                          "https://h/v1?api_key=xxxxx",
		"http://h/v1?api-version=2024":                     "http://h/v1?api-version=2024",
		"redis://a:pw@h:x y":                               unreadable,
		"http://h/v1,a:pw@g/v1":                            unreadable,
		"a:pw@g:1/v1":                                      unreadable,
		"http://h/v1,http://pw@g:x y":                      "http://h/v1," + unreadable,
		"http://a:pw@h/v1, https://b:pw@g/v1 ,http://f/v1": "http://a:xxxxx@h/v1,https://b:xxxxx@g/v1,http://f/v1",
	} {
		got := Redacted(in)
		if got != want {
			t.Errorf("Redacted(%q) = %q, want %q", in, got, want)
		}
		if strings.Contains(got, "pw") {
			t.Errorf("Redacted(%q) = %q, want no password", in, got)
		}
	}
}

func TestPoliciesAreAList(t *testing.T) {
	for in, want := range map[string][]string{
		"":            nil,
		" , ":         nil,
		"http://a/v1": {"http://a/v1"},
		" http://a/v1/ ,, http://b/v1,http://a/v1": {"http://a/v1", "http://b/v1"},
	} {
		e := Endpoints{Temporal: "t", Policy: in}
		e.Store.Endpoint = "s"
		if got := e.Policies(); !slices.Equal(got, want) {
			t.Errorf("Policies of %q = %q, want %q", in, got, want)
		}
		if err := e.Complete(); (err == nil) != (want != nil) {
			t.Errorf("Complete with policies %q = %v, want an error only without policies", in, err)
		}
	}
}

func TestAnAddressOfTheStoreIsAHostAndAPort(t *testing.T) {
	for address, ok := range map[string]bool{
		"": true, "s3.example:9000": true, "http://s3.example": true, "https://s3.example:443/": true, "[::1]:9000": true,
		"http://u:hidden@s3.example": false, "u:hidden@s3.example:9000": false, "http://s3.example/bucket": false,
		"http://s3.example?x=hidden": false, "s3://bucket": false, "ftp://s3.example": false, "a b": false,
	} {
		t.Setenv(EnvS3, address)
		e, err := FromEnv()
		if (err == nil) != ok || err != nil && (fault.KindOf(err) != fault.Invalid ||
			strings.Contains(err.Error(), "hidden")) {
			t.Errorf("FromEnv with %s = %v, want an invalid fault without the secret: %v", address, err, !ok)
		}
		if ok && strings.HasSuffix(e.Store.Endpoint, "/") {
			t.Errorf("the endpoint of %s is %s, want none that ends with a slash", address, e.Store.Endpoint)
		}
	}
}
