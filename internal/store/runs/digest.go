package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/collabui/collabui/domain"
)

// Digest returns the hex SHA-256 of a value's JSON.
func Digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values can always be encoded
	}
	h := sha256.Sum256(b)

	return hex.EncodeToString(h[:])
}

// stepDigest is the part of a step that must be equal between runs, without usage, time or place.
type stepDigest struct {
	Observation string
	Prompts     []string
	Texts       []string
	Executed    domain.Action
}

// StepsDigest returns the digest of an episode.
func StepsDigest(steps []Step) string {
	var all []stepDigest
	for _, s := range steps {
		d := stepDigest{Observation: s.ObservationDigest, Executed: s.Decision.Executed}
		for _, c := range s.Decision.Cells {
			d.Prompts = append(d.Prompts, Digest(c.Prompt))
			d.Texts = append(d.Texts, c.Text)
		}
		all = append(all, d)
	}

	return Digest(all)
}
