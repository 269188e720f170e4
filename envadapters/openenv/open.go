package openenv

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// awayFor is how long no place of a server is offered after the server did not answer.
const awayFor = 2 * time.Second

// Open waits for a free place and opens a session. It skips servers that do not answer, and fails if none of them
// answers. If a server offers something else than before, Open returns a fault of kind Transient, and the servers are
// described anew.
func (s *Suite) Open(ctx context.Context) (envadapters.Environment, error) {
	description, err := s.described()
	if err != nil {
		return nil, err
	}

	errs := map[string]error{} // by server
	for {
		select {
		case p := <-s.free:
			err := errs[p.url]
			if err == nil {
				var conn *Conn
				if conn, err = s.session(ctx, p, description); err == nil {
					return &environment{suite: s, place: p, conn: conn, desc: description}, nil
				}
			}

			errs[p.url] = err
			time.AfterFunc(awayFor, func() { s.free <- p })
			if len(errs) == len(s.o.Servers) {
				return nil, errors.Join(slices.Collect(maps.Values(errs))...)
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// session opens a session with the server of a place, and checks that the server's description has not changed.
func (s *Suite) session(ctx context.Context, p *place, description Description) (*Conn, error) {
	conn, err := Dial(ctx, p.url)
	if err != nil || s.mapping.foreign() {
		return conn, err
	}
	now, err := s.describe(ctx, conn)
	if CodeOf(err) == CodeCapacity { // the reset reports it
		conn.Close()

		return Dial(ctx, p.url)
	}
	if err == nil && !reflect.DeepEqual(now, description) {
		s.mu.Lock()
		s.desc = nil
		s.failedAt = time.Time{}
		s.mu.Unlock()
		err = fault.New(fault.Transient, "%s offers version %q now, and other tasks or abilities than before, or than "+
			"another server of the environment (version %q)", p.url, now.Version, description.Version)
	}
	if err != nil {
		conn.Close()

		return nil, err
	}

	return conn, nil
}
