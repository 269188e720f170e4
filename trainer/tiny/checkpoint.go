package tiny

import (
	"context"
	"encoding/binary"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

// checkpoint is a recorded state.
type checkpoint struct {
	Step int `json:"step"`
	// State is a blob: the length of the parameters in 8 bytes, the parameters, the optimiser.
	State store.Ref           `json:"state"`
	Curve []domain.TrainPoint `json:"curve"`
}

// lengthBytes is the size of the length before the parameters.
const lengthBytes = 8

// save records a checkpoint.
func (t *Trainer) save(ctx context.Context, s *state) error {
	if t.CheckpointKey == nil {
		return nil
	}

	model := s.model.Encode()
	raw := binary.LittleEndian.AppendUint64(nil, uint64(len(model)))
	ref, err := store.PutBlob(ctx, t.Bucket, append(append(raw, model...), s.opt.Encode()...))
	if err != nil {
		return err
	}
	key := t.CheckpointKey(s.job.ID, s.step)
	_, _, err = store.RecordOnce(ctx, t.Bucket, key, func() (checkpoint, error) {
		return checkpoint{Step: s.step, State: ref, Curve: s.out.Curve}, nil
	})

	return err
}

// resume loads the newest complete checkpoint up to the plan's end, if there is one.
func (t *Trainer) resume(ctx context.Context, s *state, plan plan) error {
	if t.CheckpointKey == nil {
		return nil
	}

	for step := plan.end / plan.every * plan.every; step > 0; step -= plan.every {
		c, there, err := store.May[checkpoint](ctx, t.Bucket, t.CheckpointKey(s.job.ID, step))
		if err != nil || !there {
			continue // It is missing or damaged. An earlier checkpoint serves as well.
		}
		raw, err := store.GetBlob(ctx, t.Bucket, c.State.SHA256)
		if err != nil || len(raw) < lengthBytes {
			continue
		}
		if err := s.load(c, raw); err != nil {
			return fault.New(fault.Corrupt, "checkpoint %s: %w", c.State.Key, err)
		}

		return nil
	}

	return nil
}

// load takes over a checkpoint.
func (s *state) load(c checkpoint, raw []byte) error {
	n := binary.LittleEndian.Uint64(raw)
	model, err := tinylm.Decode(raw[lengthBytes : lengthBytes+n])
	if err != nil {
		return err
	}
	opt, err := tinylm.DecodeAdam(raw[lengthBytes+n:], len(model.Flat))
	if err != nil {
		return err
	}
	s.model = model
	s.opt = opt
	s.step = c.Step
	s.out.Curve = c.Curve

	return nil
}
