package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/collabui/collabui/domain"
)

// Digest returns the hex SHA-256 of a value's JSON.
func Digest(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // plain values can always be encoded
	}
	h := sha256.Sum256(data)

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
	for _, step := range steps {
		digest := stepDigest{Observation: step.ObservationDigest, Executed: step.Decision.Executed}
		for _, cell := range step.Decision.Cells {
			digest.Prompts = append(digest.Prompts, promptDigest(cell))
			digest.Texts = append(digest.Texts, cell.Text)
		}
		all = append(all, digest)
	}

	return Digest(all)
}

// promptDigest returns what identifies the prompt of a cell: its text and, if the agent saw one, its picture.
func promptDigest(cell domain.Cell) string {
	if cell.Image == "" {
		return Digest(cell.Prompt)
	}

	return Digest([]string{cell.Prompt, cell.Image})
}
