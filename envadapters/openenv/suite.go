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

// Suite plays the environment that its servers offer. All servers must offer the same one.
type Suite struct {
	o       envadapters.Options
	mapping mapping
	free    chan *place

	mu       sync.Mutex
	desc     *Description // the answer of the first server that answered
	failed   error        // why no server has answered
	failedAt time.Time    // the time of that failure
}

// place is room for one session at a server.
type place struct{ url string }

// defaultSteps is the step budget of the tasks of a server without the profile.
const defaultSteps = 30

// New returns a suite. It does not connect to a server yet. It reads four options: servers contains ws:// or wss://
// addresses; places is the number of sessions at each server (1 by default, as in OpenEnv's servers); mapping describes
// a server without the profile; max_steps is the step budget of all tasks (by default the server's, or 30 without the
// profile).
func New(options envadapters.Options) (*Suite, error) {
	m, err := prepare(options.Mapping)
	if err != nil {
		return nil, err
	}

	if len(options.Servers) == 0 {
		return nil, fault.New(fault.Invalid,
			"openenv: servers: expected at least one address such as ws://127.0.0.1:8000/ws")
	}

	places := max(options.Places, 1)
	suite := &Suite{o: options, mapping: m, free: make(chan *place, places*len(options.Servers))}
	for _, a := range options.Servers {
		if _, err := ParseAddress(a); err != nil {
			return nil, fault.New(fault.Invalid, "openenv: servers: %w", err)
		}
	}
	for range places {
		for _, a := range options.Servers {
			suite.free <- &place{url: a}
		}
	}

	return suite, nil
}

// ParseAddress parses the address of a server.
func ParseAddress(address string) (*url.URL, error) {
	parsed, err := url.Parse(address)
	if err != nil || !envadapters.IsServer(parsed, "ws", "wss") {
		return nil, fmt.Errorf("expected ws://host:port/ws or wss://…, not %q", address)
	}

	return parsed, nil
}

// Name returns the suite's name in specifications.
func (s *Suite) Name() string { return "openenv" }

// Title returns the title of the served suite.
func (s *Suite) Title() string {
	description, err := s.described()
	if err != nil || description.Title == "" {
		return "an environment over OpenEnv at " + s.o.Servers[0]
	}

	return description.Title + " (over OpenEnv)"
}

// Family returns the family that the mapping or the served suite specifies, and the mobile family otherwise.
func (s *Suite) Family() domain.Family {
	if s.mapping.foreign() {
		return domain.Family(cmp.Or(s.mapping.Family, string(domain.FamilyMobile)))
	}

	if description, err := s.described(); err == nil && description.Family == string(domain.FamilyWeb) {
		return domain.FamilyWeb
	}

	return domain.FamilyMobile
}

// Splits returns the splits of the served suite.
func (s *Suite) Splits() []string {
	description, err := s.described()
	if err != nil {
		return nil
	}

	return description.Splits
}

// Templates lists the tasks of a split, sorted by name.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	description, err := s.described()
	if err != nil {
		return nil, err
	}

	if !slices.Contains(description.Splits, split) {
		return nil, fault.New(fault.Invalid, "%s has no split %q; it has %s",
			s.Title(), split, strings.Join(description.Splits, ", "))
	}

	var out []envadapters.Template
	for _, task := range description.Tasks {
		if task.Split == split {
			out = append(out, envadapters.Template{Name: task.Name, Group: task.Group, MaxSteps: task.MaxSteps})
		}
	}
	slices.SortFunc(out, func(a, b envadapters.Template) int { return strings.Compare(a.Name, b.Name) })

	return out, nil
}

// Protocol returns the protocol of the served suite if it is a recorded one.
func (s *Suite) Protocol() string {
	description, _ := s.described() // other calls report a server that does not answer
	return description.Recorded
}

// Version returns the version that the server reports.
func (s *Suite) Version(context.Context) (string, error) {
	description, err := s.described()
	return description.Version, err
}

// described returns the description of the suite. It queries the servers until one has answered, and keeps the answer.
// It keeps a failure for a second, so that the callers that waited for it share it.
func (s *Suite) described() (Description, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.desc != nil {
		return *s.desc, nil
	}
	if time.Since(s.failedAt) < time.Second {
		return Description{}, s.failed
	}

	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()

	description, err := askAny(ctx, s.o.Servers, s.describe)
	if err == nil {
		s.desc = &description
	}
	s.failed = err
	s.failedAt = time.Now()

	return description, err
}

// describe returns a server's description of its suite. For a server without the profile, the mapping provides it.
func (s *Suite) describe(ctx context.Context, conn *Conn) (Description, error) {
	var description Description
	if s.mapping.foreign() {
		description = s.mapping.description()
	} else if err := conn.Call(ctx, FrameState, nil, &description); err != nil {
		return description, err
	} else if description.Profile != Profile {
		return description, fault.New(fault.Invalid,
			"the server speaks profile %q, not %s: add a mapping to the suite (docs/add-an-environment.md)",
			description.Profile, Profile)
	}

	if s.o.MaxSteps > 0 {
		for i := range description.Tasks {
			description.Tasks[i].MaxSteps = s.o.MaxSteps
		}
	}

	return description, nil
}

// Check queries every server.
func (s *Suite) Check(ctx context.Context) envadapters.Health {
	description, err := s.described()
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

	health := envadapters.Health{
		State:  envadapters.Ready,
		Detail: fmt.Sprintf("%s: %d tasks", s.Title(), len(description.Tasks)),
	}
	var errs []error
	for _, a := range s.o.Servers {
		conn, err := Dial(ctx, a)
		if err != nil {
			health.State = envadapters.Degraded
			health.Detail += "; " + err.Error()
			health.Fix = "start the servers that do not answer, or remove them from the configuration"
			errs = append(errs, err)

			continue
		}
		conn.Close()
	}
	if len(errs) == len(s.o.Servers) { // the servers answered before
		return dead(errors.Join(errs...))
	}

	return health
}

// dead returns the health of a suite of which no server answers.
func dead(err error) envadapters.Health {
	return envadapters.Health{
		State:  envadapters.Dead,
		Detail: err.Error(),
		Fix: "start the server (`collabui envs serve NAME` for a suite of collabui, " +
			"`python -m collabui_env serve FILE` for an environment in Python), and put its ws:// address under servers",
	}
}

// Rehearse renders the mapping's template of actions, if any, for a sample action of every type.
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
	var observation Observation
	var err error
	if s.mapping.foreign() {
		observation, err = s.mapping.observation(raw)
	} else {
		err = json.Unmarshal(raw, &observation)
	}
	if err != nil {
		return observation, fmt.Errorf("the observation is malformed: %w", err)
	}

	if err := observation.checkRight(s.Family()); err != nil {
		return observation, err
	}

	return observation.Checked()
}

var (
	_ envadapters.Suite     = (*Suite)(nil)
	_ envadapters.Recorded  = (*Suite)(nil)
	_ envadapters.Versioned = (*Suite)(nil)
	_ envadapters.Able      = (*environment)(nil)
)
