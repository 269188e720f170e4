package openenv

import (
	"cmp"
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

// Suite plays the environment that its servers offer. All of them must offer the same one.
type Suite struct {
	o       envadapters.Options
	mapping mapping
	free    chan *place

	mu     sync.Mutex
	desc   *Description // The answer of the first server that answered.
	failed error        // Why none has answered.
	asked  time.Time    // When that was known.
}

// place is room for one session at a server.
type place struct{ url string }

// defaultSteps is the step budget of the tasks of a server without the profile.
const defaultSteps = 30

// New returns a suite. It does not connect to a server yet. It reads these options: servers are ws:// or wss://
// addresses; places is the number of sessions at each server (default 1, as OpenEnv's servers); mapping describes a
// server without the profile; max_steps is the step budget of all tasks (default: the server's, or 30 without the
// profile).
func New(o envadapters.Options) (*Suite, error) {
	m, err := prepare(o.Mapping)
	if err != nil {
		return nil, err
	}

	if len(o.Servers) == 0 {
		return nil, fault.New(fault.Invalid,
			"openenv: servers: expected at least one address such as ws://127.0.0.1:8000/ws")
	}

	places := max(o.Places, 1)
	s := &Suite{o: o, mapping: m, free: make(chan *place, places*len(o.Servers))}
	for _, a := range o.Servers {
		if _, err := ParseAddress(a); err != nil {
			return nil, fault.New(fault.Invalid, "openenv: servers: %w", err)
		}
	}
	for range places {
		for _, a := range o.Servers {
			s.free <- &place{url: a}
		}
	}

	return s, nil
}

// ParseAddress parses the address of a server.
func ParseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || !envadapters.IsServer(u, "ws", "wss") {
		return nil, fmt.Errorf("expected ws://host:port/ws or wss://…, not %q", address)
	}

	return u, nil
}

// Name returns the suite's name in specifications.
func (s *Suite) Name() string { return "openenv" }

// Title returns the title of the served suite.
func (s *Suite) Title() string {
	d, err := s.described()
	if err != nil || d.Title == "" {
		return "an environment over OpenEnv at " + s.o.Servers[0]
	}

	return d.Title + " (over OpenEnv)"
}

// Family returns the family that the mapping or the served suite names, and the mobile family otherwise.
func (s *Suite) Family() domain.Family {
	if s.mapping.foreign() {
		return domain.Family(cmp.Or(s.mapping.Family, string(domain.FamilyMobile)))
	}

	if d, err := s.described(); err == nil && d.Family == string(domain.FamilyWeb) {
		return domain.FamilyWeb
	}

	return domain.FamilyMobile
}

// Splits returns the splits of the served suite.
func (s *Suite) Splits() []string {
	d, err := s.described()
	if err != nil {
		return nil
	}

	return d.Splits
}

// Templates lists the tasks of a split, sorted by name.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	d, err := s.described()
	if err != nil {
		return nil, err
	}

	if !slices.Contains(d.Splits, split) {
		return nil, fault.New(fault.Invalid, "%s has no split %q; it has %s",
			s.Title(), split, strings.Join(d.Splits, ", "))
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

// Protocol returns the protocol of the served suite if it is a recorded one.
func (s *Suite) Protocol() string {
	d, _ := s.described() // Other calls report a server that does not answer.
	return d.Recorded
}

// Version returns the version that the server reports.
func (s *Suite) Version(context.Context) (string, error) {
	d, err := s.described()
	return d.Version, err
}

// described asks the servers what they offer until one has answered, and remembers the answer. Why none has
// answered is remembered for a second: the callers who have waited for that share it.
func (s *Suite) described() (Description, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.desc != nil {
		return *s.desc, nil
	}
	if time.Since(s.asked) < time.Second {
		return Description{}, s.failed
	}

	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()

	d, err := askAny(ctx, s.o.Servers, s.describe)
	if err == nil {
		s.desc = &d
	}
	s.failed, s.asked = err, time.Now()

	return d, err
}

// describe returns a server's description of its suite. For a server without the profile, it comes from the mapping.
func (s *Suite) describe(ctx context.Context, c *Conn) (Description, error) {
	var d Description
	if s.mapping.foreign() {
		d = s.mapping.description()
	} else if err := c.Call(ctx, FrameState, nil, &d); err != nil {
		return d, err
	} else if d.Profile != Profile {
		return d, fault.New(fault.Invalid,
			"the server speaks profile %q, not %s: add a mapping to the suite (docs/add-an-environment.md)",
			d.Profile, Profile)
	}

	if s.o.MaxSteps > 0 {
		for i := range d.Tasks {
			d.Tasks[i].MaxSteps = s.o.MaxSteps
		}
	}

	return d, nil
}

// Check asks every server.
func (s *Suite) Check(ctx context.Context) envadapters.Health {
	d, err := s.described()
	if CodeOf(err) == CodeCapacity {
		return envadapters.Health{
			State:  envadapters.Busy,
			Detail: err.Error(),
			Fix:    "wait, or start the server with more places",
		}
	}
	if err != nil {
		return dead(err)
	}

	h := envadapters.Health{
		State:  envadapters.Ready,
		Detail: fmt.Sprintf("%s: %d tasks", s.Title(), len(d.Tasks)),
	}
	var errs []error
	for _, a := range s.o.Servers {
		c, err := Dial(ctx, a)
		if err != nil {
			h.State = envadapters.Degraded
			h.Detail += "; " + err.Error()
			h.Fix = "start the servers that do not answer, or remove them from the configuration"
			errs = append(errs, err)

			continue
		}
		c.Close()
	}
	if len(errs) == len(s.o.Servers) { // they answered before
		return dead(errors.Join(errs...))
	}

	return h
}

// dead is the health of a suite of which no server answers.
func dead(err error) envadapters.Health {
	return envadapters.Health{
		State:  envadapters.Dead,
		Detail: err.Error(),
		Fix: "start the server (for a suite of collabui: collabui envs serve NAME), " +
			"and put its ws:// address under servers",
	}
}

// Rehearse renders the template of actions for a sample of every type, if there is a mapping.
func (s *Suite) Rehearse() error {
	if !s.mapping.foreign() {
		return nil
	}
	var failed []string
	var first error
	for _, a := range domain.Samples(s.Family()) {
		if _, err := render("action", s.mapping.action, Act{Action: a, ID: "A", Said: "text"}, a); err != nil {
			failed = append(failed, a.Type)
			first = cmp.Or(first, err)
		}
	}
	if first == nil {
		return nil
	}

	return fault.New(fault.Invalid, "actions of the types %s cannot be sent: %w", strings.Join(failed, ", "), first)
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
		return o, fmt.Errorf("the observation is malformed: %w", err)
	}

	if err := o.checkRight(s.Family()); err != nil {
		return o, err
	}

	return o.Checked()
}

var (
	_ envadapters.Suite     = (*Suite)(nil)
	_ envadapters.Recorded  = (*Suite)(nil)
	_ envadapters.Versioned = (*Suite)(nil)
	_ envadapters.Able      = (*environment)(nil)
)
