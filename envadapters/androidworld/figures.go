package androidworld

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/openenv"
)

// codeSilent is the code of void episodes whose companion did not answer.
const codeSilent openenv.Code = "SILENT"

// Figures describe a pool: counts since it was opened, and the present states of its slots.
type Figures struct {
	Free        int                  `json:"free"`
	Leased      int                  `json:"leased"`
	Mending     int                  `json:"mending"`
	Quarantined int                  `json:"quarantined"`
	Leases      int                  `json:"leases"`
	Voids       map[openenv.Code]int `json:"voids"` // void episodes by code; SILENT if nothing answered
	Restarts    int                  `json:"restarts"`
	Recycled    int                  `json:"recycled"`      // restarts because of age or memory
	Templates   []string             `json:"templates"`     // templates in quarantine
	WaitS       float64              `json:"wait_s"`        // seconds that Open waited for a free slot, in total
	MendS       float64              `json:"mend_s"`        // seconds that slots were out of service, in total
	Why         []string             `json:"why,omitempty"` // why slots are out of service
}

// snapshot returns the present figures.
func (p *pool) snapshot() Figures {
	p.mu.Lock()
	defer p.mu.Unlock()

	figures := p.figures
	figures.Voids = maps.Clone(p.figures.Voids)
	for _, s := range p.slots {
		switch s.state {
		case free:
			figures.Free++
		case leased:
			figures.Leased++
		case mending, unseen:
			figures.Mending++
		case quarantined:
			figures.Quarantined++
		}

		if s.why != "" {
			figures.Why = append(figures.Why, s.url+": "+s.why)
		}
	}
	figures.Templates = slices.Sorted(maps.Keys(p.barred))

	return figures
}

// settled reports whether all slots have been inspected and at least one is free or leased.
func (p *pool) settled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	usable := func(s *slot) bool { return s.state == free || s.state == leased }
	isUnseen := func(s *slot) bool { return s.state == unseen }

	return slices.ContainsFunc(p.slots, usable) && !slices.ContainsFunc(p.slots, isUnseen)
}

// String describes the pool in one line.
func (f Figures) String() string {
	s := fmt.Sprintf("%d free, %d leased, %d mending, %d in quarantine; %d leases, %d restarts (%d for age or memory)",
		f.Free, f.Leased, f.Mending, f.Quarantined, f.Leases, f.Restarts, f.Recycled)
	if len(f.Voids) > 0 {
		s += fmt.Sprintf(", void episodes %v", f.Voids)
	}
	if len(f.Templates) > 0 {
		s += ", templates in quarantine: " + strings.Join(f.Templates, " ")
	}
	if len(f.Why) > 0 {
		s += "; " + strings.Join(f.Why, "; ")
	}

	return s
}

var _ envadapters.Served = (*Suite)(nil)

// Servers returns the states of the emulators as the pool last saw them.
func (s *Suite) Servers(context.Context) []envadapters.Server {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()

	var out []envadapters.Server
	for _, x := range s.pool.slots {
		state := envadapters.Ready
		switch x.state {
		case leased:
			state = envadapters.Busy
		case mending, unseen:
			state = envadapters.Degraded
		case quarantined:
			state = envadapters.Dead
		}
		out = append(out, envadapters.Server{Address: x.url, State: state, Detail: x.why})
	}

	return out
}
