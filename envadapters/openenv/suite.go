package openenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// Suite plays the environment that its servers offer; all of them must offer the same.
type Suite struct {
	o       envadapters.Options
	mapping mapping
	free    chan *place

	mu   sync.Mutex
	desc *Description // of the first server that answered
}

// place is room for one session at a server.
type place struct{ url string }

// defaultSteps is the budget of a foreign server's tasks.
const defaultSteps = 30

// New connects to nobody yet. Options: servers, ws:// or wss:// addresses; places, sessions at once per server (default 1, as OpenEnv's servers); mapping, of a server without
// the profile; max_steps, of such a server's tasks (default 30).
func New(o envadapters.Options) (*Suite, error) {
	m, err := prepare(o.Mapping)
	if err != nil {
		return nil, err
	}
	if len(o.Servers) == 0 {
		return nil, fault.New(fault.Invalid, "openenv: servers: expected at least one address such as ws://127.0.0.1:8000/ws")
	}
	places := max(o.Places, 1)
	s := &Suite{o: o, mapping: m, free: make(chan *place, places*len(o.Servers))}
	for range places {
		for _, a := range o.Servers {
			if u, err := url.Parse(a); err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
				return nil, fault.New(fault.Invalid, "openenv: servers: expected ws://host:port/ws or wss://…, not %q", a)
			}
			s.free <- &place{a}
		}
	}
	return s, nil
}

// Name is the suite's name in specifications.
func (s *Suite) Name() string { return "openenv" }

// Title is the served suite's.
func (s *Suite) Title() string {
	d, err := s.described()
	if err != nil || d.Title == "" {
		return "an environment over OpenEnv at " + s.o.Servers[0]
	}
	return d.Title + " (over OpenEnv)"
}

// Family is the served suite's, or what the mapping says; mobile where nobody says.
func (s *Suite) Family() domain.Family {
	if s.mapping.Family != "" {
		return domain.Family(s.mapping.Family)
	}
	if d, err := s.described(); err == nil && d.Family == string(domain.FamilyWeb) {
		return domain.FamilyWeb
	}
	return domain.FamilyMobile
}

// Splits are the served suite's.
func (s *Suite) Splits() []string {
	d, err := s.described()
	if err != nil {
		return nil
	}
	return d.Splits
}

// Templates lists the tasks of a split.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	d, err := s.described()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(d.Splits, split) {
		return nil, fault.New(fault.Invalid, "%s has no split %q; it has %s", s.Title(), split, strings.Join(d.Splits, ", "))
	}
	var out []envadapters.Template
	for _, t := range d.Tasks {
		if t.Split == split {
			out = append(out, envadapters.Template{Name: t.Name, Group: t.Group, MaxSteps: t.MaxSteps})
		}
	}
	slices.SortFunc(out, func(a, b envadapters.Template) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Protocol is the served suite's, where it is a recorded one.
func (s *Suite) Protocol() string {
	d, _ := s.described() // a server that does not answer says so elsewhere
	return d.Recorded
}

// Version is what the server says.
func (s *Suite) Version(context.Context) (string, error) {
	d, err := s.described()
	return d.Version, err
}

// described asks a server what it offers, until one has said it.
func (s *Suite) described() (Description, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.desc != nil {
		return *s.desc, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	for _, a := range s.o.Servers {
		c, err := Dial(ctx, a)
		if err == nil {
			var d Description
			d, err = s.describe(ctx, c)
			c.Close()
			if err == nil {
				s.desc = &d
				return d, nil
			}
		}
		errs = append(errs, err)
	}
	return Description{}, errors.Join(errs...)
}

// describe reads a server's state, or makes up for a foreign one's silence from the mapping.
func (s *Suite) describe(ctx context.Context, c *Conn) (Description, error) {
	var d Description
	if s.mapping.foreign() {
		names := slices.Clone(s.mapping.Tasks)
		if len(names) == 0 {
			names = []string{"default"}
		}
		d = Description{Splits: domain.Splits}
		train, held := envadapters.HoldOut(names)
		for _, split := range domain.Splits {
			of := train
			if split == domain.SplitTestTemplates {
				of = held
			}
			for _, n := range of {
				d.Tasks = append(d.Tasks, Task{Name: n, Split: split, MaxSteps: defaultSteps})
			}
		}
	} else if err := c.Call(ctx, "state", nil, &d); err != nil {
		return d, err
	} else if d.Profile != Profile {
		return d, fault.New(fault.Invalid, "the server speaks profile %q, not %s: give the suite a mapping (docs/add-an-environment.md)", d.Profile, Profile)
	}
	for i := range d.Tasks {
		if s.o.MaxSteps > 0 {
			d.Tasks[i].MaxSteps = s.o.MaxSteps
		}
	}
	return d, nil
}

// Open waits for a free place and opens a session. A server that does not answer is left for the others.
func (s *Suite) Open(ctx context.Context) (envadapters.Environment, error) {
	d, err := s.described()
	if err != nil {
		return nil, err
	}
	var errs []error
	for range s.o.Servers {
		select {
		case p := <-s.free:
			c, err := Dial(ctx, p.url)
			if err == nil {
				return &environment{suite: s, place: p, conn: c, desc: d}, nil
			}
			s.free <- p
			errs = append(errs, err)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, errors.Join(errs...)
}

// Check asks every server.
func (s *Suite) Check(ctx context.Context) envadapters.Health {
	d, err := s.described()
	if err != nil {
		return envadapters.Health{State: envadapters.Dead, Detail: err.Error(), Fix: "start the server (for ours: collabui envs serve NAME), and give its ws:// address under servers"}
	}
	h := envadapters.Health{State: envadapters.Ready, Detail: fmt.Sprintf("%s: %d tasks", s.Title(), len(d.Tasks))}
	for _, a := range s.o.Servers {
		c, err := Dial(ctx, a)
		if err != nil {
			h.State, h.Detail, h.Fix = envadapters.Degraded, h.Detail+"; "+err.Error(), "start the servers that do not answer, or leave them out"
			continue
		}
		c.Close()
	}
	return h
}

// Close does nothing: sessions end with their environments.
func (s *Suite) Close() error { return nil }

// read reads an observation.
func (s *Suite) read(raw json.RawMessage) (Observation, error) {
	var o Observation
	var err error
	if s.mapping.foreign() {
		o, err = s.mapping.observation(raw)
	} else {
		err = json.Unmarshal(raw, &o)
	}
	if err != nil {
		return o, fmt.Errorf("the observation is not what it must be: %w", err)
	}
	return o.Checked()
}

var (
	_ envadapters.Suite     = (*Suite)(nil)
	_ envadapters.Recorded  = (*Suite)(nil)
	_ envadapters.Versioned = (*Suite)(nil)
	_ envadapters.Able      = (*environment)(nil)
)
