package payloads

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/fault"
)

// line returns a line of EnvKeys with a key of a name.
func line(name string, first byte) string {
	return name + "=" + base64.StdEncoding.EncodeToString(append([]byte{first}, make([]byte, 31)...)) + "\n"
}

// codec returns a codec with the given keys.
func codec(t *testing.T, keys string) *Codec {
	t.Helper()
	t.Setenv(EnvKeys, keys)
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}

	return c
}

func TestPayloadsAreReadWithTheirKeyOnly(t *testing.T) {
	const secret = "the run that nobody may know"
	one := codec(t, line("one", 1))
	var o client.Options
	one.Use(&o)
	sealed, err := o.DataConverter.ToPayload(secret)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed.Data, []byte("nobody")) || string(sealed.Metadata[keyField]) != "one" {
		t.Errorf("the payload is %v, want it encrypted with the key one", sealed)
	}
	again, err := o.DataConverter.ToPayload(secret)
	if err != nil || bytes.Equal(again.Data, sealed.Data) {
		t.Errorf("two payloads of one value are equal (%v), want each with a nonce of its own", err)
	}

	plain, err := converter.GetDefaultDataConverter().ToPayload(secret)
	if err != nil {
		t.Fatal(err)
	}
	broken := &commonpb.Payload{Metadata: sealed.Metadata, Data: append([]byte(nil), sealed.Data...)}
	broken.Data[20] ^= 1
	for _, c := range []struct {
		name, keys, want string
		of               *commonpb.Payload
	}{
		{"its key", line("one", 1), "", sealed},
		{"a newer key before it", line("two", 2) + line("one", 1), "", sealed},
		{"not encrypted: from before there were keys", line("two", 2), "", plain},
		{"not encrypted, and no keys", "", "", plain},
		{"no keys", "", `needs the key "one"`, sealed},
		{"another key", line("two", 2), `needs the key "one"`, sealed},
		{"another key of its name", line("one", 3), "is not what key", sealed},
		{"a changed byte", line("one", 1), "is not what key", broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got string
			err := codec(t, c.keys).Converter().FromPayload(c.of, &got)
			if c.want == "" {
				if err != nil || got != secret {
					t.Errorf("got %q and %v, want %q", got, err, secret)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestKeysChangeWhileTheCodecIsUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	write := func(keys string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write(line("one", 1))
	t.Setenv(EnvKeys+"_FILE", file)
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	before, err := c.Converter().ToPayload(1)
	if err != nil {
		t.Fatal(err)
	}
	write(line("two", 2) + line("one", 1))
	after, err := c.Converter().ToPayload(2)
	if err != nil || string(after.Metadata[keyField]) != "two" {
		t.Errorf("got %v with %v, want the key two", after, err)
	}
	for want, p := range map[int]*commonpb.Payload{1: before, 2: after} {
		var got int
		if err := c.Converter().FromPayload(p, &got); err != nil || got != want {
			t.Errorf("got %d and %v, want %d", got, err, want)
		}
	}
}

func TestKeysThatCannotBeReadAreRefused(t *testing.T) {
	for _, keys := range []string{"x", "x=", "x=AAAA", "=" + line("", 1)[1:], line("one", 1) + "two=?"} {
		t.Setenv(EnvKeys, keys)
		if _, err := New(); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), EnvKeys) ||
			strings.Contains(err.Error(), "AAAA") {
			t.Errorf("New() with %q = %v, want an invalid fault that names the variable and no key", keys, err)
		}
	}
}

func TestTextsOfFailuresAreEncryptedIfThereAreKeys(t *testing.T) {
	for keys, want := range map[string]bool{"": true, line("one", 1): false} {
		var o client.Options
		codec(t, keys).Use(&o)
		f := o.FailureConverter.ErrorToFailure(temporal.NewApplicationError("secret", "kind"))
		if got := strings.Contains(f.String(), "secret"); got != want {
			t.Errorf("the text is in the failure: %v, want %v\n%v", got, want, f)
		}
		if err := o.FailureConverter.FailureToError(f); !strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want the text again", err)
		}
	}
}
