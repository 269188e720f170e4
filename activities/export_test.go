package activities

import "context"

// Plain runs the three activities of an episode as plain functions: what the orchestration benchmark compares with.
func Plain(ctx context.Context, d *Deps, id SlotID) error {
	r, m := &Rollouts{d}, &Models{d}
	if _, err := r.rollout(ctx, id, func(string) {}); err != nil {
		return err
	}
	if _, err := m.credit(ctx, id); err != nil {
		return err
	}
	_, err := m.pairing(ctx, id)
	return err
}
