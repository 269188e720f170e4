// Package payloads encrypts the payloads that Temporal stores: inputs, results, heartbeats, memos and the text of
// failures. Names of workflows and search attributes stay readable, so that people find runs.
//
// Encryption keeps payloads secret and reveals damage. It does not authenticate their author: plain payloads are
// accepted, because runs from before the keys contain them, and an encrypted payload is valid in every workflow.
package payloads

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
)

// EnvKeys is the variable with the keys, one per line: NAME=KEY, where KEY is base64 of 32 bytes. The first key
// encrypts, and all of them decrypt. If the variable with _FILE appended names a file instead, the file is read again
// whenever a key is needed.
const EnvKeys = "COLLABUI_PAYLOAD_KEYS"

// Metadata of an encrypted payload. The encoding and the name of the key's field are the same as in Temporal's
// examples.
const (
	encoding = "binary/encrypted"
	keyField = "encryption-key-id"
)

// key is one line of EnvKeys.
type key struct {
	name string
	aead cipher.AEAD
}

// Codec encrypts and decrypts payloads with AES-256-GCM. It is safe for concurrent use. Without keys it leaves payloads
// as they are, and refuses encrypted ones.
type Codec struct{ text func() string }

// New returns a codec with the keys of the environment, which may change meanwhile if they are in a file. Keys that
// cannot be read are an invalid fault.
func New() (*Codec, error) {
	text, err := config.Secret(EnvKeys)
	if err != nil {
		return nil, err
	}
	codec, err := Fixed(text)
	codec.text = config.Live(EnvKeys, text)

	return codec, err
}

// Fixed returns a codec with keys that do not change, in the form of EnvKeys.
func Fixed(keys string) (*Codec, error) {
	_, err := parse(keys)

	return &Codec{func() string { return keys }}, err
}

// On reports whether there are keys.
func (c *Codec) On() bool { return c.text() != "" }

// Encode encrypts payloads with the first key.
func (c *Codec) Encode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	keys, err := parse(c.text())
	if err != nil || len(keys) == 0 {
		return in, err
	}
	out := make([]*commonpb.Payload, len(in))
	for i, payload := range in {
		plain, err := proto.Marshal(payload)
		if err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{
			Metadata: map[string][]byte{
				converter.MetadataEncoding: []byte(encoding),
				keyField:                   []byte(keys[0].name),
			},
			Data: keys[0].aead.Seal(nil, nil, plain, []byte(keys[0].name)),
		}
	}

	return out, nil
}

// Decode decrypts the encrypted payloads among in. A payload whose key is missing, or that has changed since Encode, is
// an invalid fault.
func (c *Codec) Decode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(in))
	for i, payload := range in {
		if string(payload.GetMetadata()[converter.MetadataEncoding]) != encoding {
			out[i] = payload

			continue
		}
		keys, err := parse(c.text())
		if err != nil {
			return nil, err
		}
		if out[i], err = open(keys, payload); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// open decrypts a payload.
func open(keys []key, payload *commonpb.Payload) (*commonpb.Payload, error) {
	name := string(payload.Metadata[keyField])
	for _, k := range keys {
		if k.name != name {
			continue
		}
		plain, err := k.aead.Open(nil, nil, payload.Data, []byte(name))
		out := &commonpb.Payload{}
		if err == nil {
			err = proto.Unmarshal(plain, out)
		}
		if err != nil {
			return nil, fault.New(fault.Invalid,
				"a payload of Temporal is not what key %q of %s encrypted: %w", name, EnvKeys, err)
		}

		return out, nil
	}

	return nil, fault.New(fault.Invalid, "a payload of Temporal needs the key %q: add it to %s, or to its _FILE, here",
		name, EnvKeys)
}

// parse parses keys in the form of EnvKeys.
func parse(text string) ([]key, error) {
	var keys []key
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, secret, _ := strings.Cut(line, "=")
		raw, err := base64.StdEncoding.DecodeString(secret)
		if err != nil || len(raw) != 32 || name == "" {
			return nil, fault.New(fault.Invalid,
				"%s: line %d is not NAME=KEY, where KEY is base64 of 32 bytes, as `openssl rand -base64 32` prints it",
				EnvKeys, n+1)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key{name, aead})
	}

	return keys, nil
}

// Converter returns the converter between values and payloads.
func (c *Codec) Converter() converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)
}

// Use makes clients, and workers that use them, encrypt their payloads. Failures are encrypted only if there are keys;
// otherwise their text stays where every tool looks for it.
func (c *Codec) Use(options *client.Options) {
	options.DataConverter = c.Converter()
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: options.DataConverter, EncodeCommonAttributes: c.On(),
	})
}
