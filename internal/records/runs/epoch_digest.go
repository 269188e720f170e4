package runs

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
)

// EpochParts are the parts of an epoch's digest, in the order of slots and agents: the digest is the hex SHA-256 of
// their JSON. Fields are set directly, except pairs, which are added by AddPairs.
type EpochParts struct {
	Parent   string // the digest of the epoch before
	Topology domain.Topology
	Slots    []domain.Slot
	Episodes []string // digests
	Labels   [][]domain.Credit
	Tensors  []string
	Kept     string // left out if empty

	pairs list // in a temporary file: an epoch may have more than fits into memory
	file  *os.File
}

// NewEpochParts returns parts without pairs. Close must be called.
func NewEpochParts() (*EpochParts, error) {
	file, err := os.CreateTemp("", "epoch-*")
	if err != nil {
		return nil, fault.As(fault.Transient, err)
	}
	_ = os.Remove(file.Name()) // the file lives until it is closed

	return &EpochParts{pairs: list{w: bufio.NewWriterSize(file, 1<<16)}, file: file}, nil
}

// AddPairs adds the pairs of the next slot, or nil for a failed slot.
func (p *EpochParts) AddPairs(pairs []domain.Example) error {
	p.pairs.add(pairs)

	return fault.As(fault.Transient, p.pairs.err)
}

// Digest returns the digest. No pairs may be added afterwards.
func (p *EpochParts) Digest() (string, error) {
	p.pairs.end(true)
	err := errors.Join(p.pairs.err, p.pairs.w.Flush())
	if err == nil {
		_, err = p.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return "", fault.As(fault.Transient, err)
	}

	digest := sha256.New()
	field := func(name string, value any) {
		raw, of := json.Marshal(value)
		err = errors.Join(err, of)
		_, _ = io.WriteString(digest, name) // a hash accepts everything
		_, _ = digest.Write(raw)
	}
	field(`{"Parent":`, p.Parent)
	field(`,"Topology":`, p.Topology)
	field(`,"Slots":`, p.Slots)
	field(`,"Episodes":`, p.Episodes)
	field(`,"Labels":`, p.Labels)
	_, _ = io.WriteString(digest, `,"Pairs":`)
	_, of := io.Copy(digest, p.file)
	err = errors.Join(err, of)
	field(`,"Tensors":`, p.Tensors)
	if p.Kept != "" {
		field(`,"Kept":`, p.Kept)
	}
	_, _ = io.WriteString(digest, "}")

	return hex.EncodeToString(digest.Sum(nil)), fault.As(fault.Transient, err)
}

// Close frees the pairs. It may be repeated.
func (p *EpochParts) Close() { _ = p.file.Close() }
