package verify

import (
	"encoding/hex"

	"github.com/collabui/collabui/internal/store"
)

// References returns the references in the body of a manifest, for tests.
func References(body []byte) (out []store.Ref) {
	for _, r := range references(body) {
		out = append(out, store.Ref{Key: r.key, SHA256: hex.EncodeToString(r.sum[:])})
	}

	return out
}
