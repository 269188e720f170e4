package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

// named returns the references in a specification, which names blobs by their digests alone: a base policy and data
// that were imported.
func named(body []byte) (out []reference) {
	var specification spec.Spec
	if json.Unmarshal(body, &specification) != nil {
		return nil
	}
	for _, digest := range []string{
		specification.FineTune.Base,
		specification.FineTune.Data.Level1,
		specification.FineTune.Data.Level2,
		specification.FineTune.Data.Level3,
	} {
		var r reference
		if n, err := hex.Decode(r.sum[:], []byte(digest)); err == nil && n == len(r.sum) {
			r.key = store.BlobPrefix + digest
			out = append(out, r)
		}
	}

	return out
}

// ReferencesVersion must change whenever other references are found in the same bytes, because earlier findings are
// then invalid.
const ReferencesVersion = 1

// The texts that surround references: {"key":"K","sha256":"S",…} for objects, {"digest":"S","tensor_digest":"…"} for
// policies and "image":"S" for screenshots, which are named by their blobs. Inside a JSON string every quote has a
// backslash before it, so no text of a page or a model looks like a reference.
var (
	beforeKey    = []byte(`"key":"`)
	beforeSum    = []byte(`,"sha256":"`)
	beforeDigest = []byte(`"digest":"`)
	beforeTensor = []byte(`,"tensor_digest":"`)
	beforeImage  = []byte(`"image":"`)
)

// references finds the references in the body of a manifest.
func references(body []byte) (out []reference) {
	for rest := body; ; {
		i := bytes.Index(rest, beforeKey)
		if i < 0 {
			break
		}
		rest = rest[i+len(beforeKey):]
		key, after, _ := bytes.Cut(rest, []byte{'"'})
		if sum, ok := sumAt(after, beforeSum); ok {
			out = append(out, reference{key: string(key), sum: sum})
		}
	}
	out = append(out, screenshots(body)...)
	for rest := body; ; {
		i := bytes.Index(rest, beforeDigest)
		if i < 0 {
			return out
		}
		rest = rest[i+len(beforeDigest):]
		if len(rest) > hexSum && bytes.HasPrefix(rest[hexSum+1:], beforeTensor) {
			if sum, ok := sumAt(rest, nil); ok {
				out = append(out, reference{key: store.BlobPrefix + string(rest[:hexSum]), sum: sum})
			}
		}
	}
}

// screenshots finds the references to screenshots.
func screenshots(body []byte) (out []reference) {
	for rest := body; ; {
		i := bytes.Index(rest, beforeImage)
		if i < 0 {
			return out
		}
		rest = rest[i+len(beforeImage):]
		if sum, ok := sumAt(rest, nil); ok {
			out = append(out, reference{key: store.BlobPrefix + string(rest[:hexSum]), sum: sum})
		}
	}
}

const hexSum = 2 * sha256.Size

// sumAt reads a hash in hexadecimal digits after a prefix.
func sumAt(data, prefix []byte) (sum [sha256.Size]byte, ok bool) {
	data, ok = bytes.CutPrefix(data, prefix)
	if !ok || len(data) <= hexSum || data[hexSum] != '"' {
		return sum, false
	}
	_, err := hex.Decode(sum[:], data[:hexSum])

	return sum, err == nil
}
