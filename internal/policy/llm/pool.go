package llm

import (
	"context"
	"crypto/sha256"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/failpoint"
	"github.com/collabui/collabui/internal/method/chat"
)

// Parameters of the choice of servers.
const (
	// slack is the number of outstanding requests by which a server may exceed another and still get requests whose
	// prompts it has cached.
	slack = 2
	// prefix is the number of characters of the user's message that are compared to find prompts with the same
	// beginning.
	prefix = 600
	// firstAvoid is the time for which a server is avoided after a failure. It doubles with every further failure, up
	// to maxAvoid.
	firstAvoid = 2 * time.Second
	maxAvoid   = 30 * time.Second
	// lateLoad is the time that Load waits for the other servers after its quorum is reached.
	lateLoad = 5 * time.Second
	// maxReason bounds the part of a server's text that errors quote, in characters.
	maxReason = 400
)

// Pool is a chat.Model and a chat.Scorer that several policy servers serve. A request goes to the server with the
// fewest outstanding requests of this process or, if the difference is small, to the one that has seen prompts with the
// same beginning. Answers must not depend on the server. It is safe for concurrent use, and calls may be repeated.
type Pool struct {
	servers  []*member
	now      func() time.Time
	lateWait time.Duration

	mu sync.Mutex // guards outstanding and avoid of the servers
}

type member struct {
	client      *Client
	url         string // without a password
	outstanding int
	avoid       map[string]pause // by the model that it lacks; "" means the whole server
}

// pause is a period during which a server is avoided.
type pause struct {
	since, until time.Time
	length       time.Duration // doubles with the next failure
}

// PolicyServers returns a pool of policy servers, given their base URLs up to /v1. It makes no request. Of the
// configuration, it uses the key, the timeout of a call to one server, and the kernel; a server with another kernel
// counts as one that does not answer. An empty list and a URL that is not http or https are invalid faults.
func PolicyServers(urls []string, conf Config) (*Pool, error) {
	if len(urls) == 0 {
		return nil, fault.New(fault.Invalid,
			"no policy server is named: set COLLABUI_POLICY to base URLs up to /v1, separated by commas")
	}

	p := &Pool{now: time.Now, lateWait: lateLoad}
	for _, base := range urls {
		if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fault.New(fault.Invalid,
				"policy server %s: expected a base URL like http://HOST:8000/v1", redactURL(base))
		}

		c, err := New(Config{
			BaseURL: base, Key: conf.Key, Timeout: conf.Timeout, Kernel: conf.Kernel, LogProbs: true, Seeds: true,
			Images: true, Picture: conf.Picture,
		})
		if err != nil {
			return nil, err
		}

		p.servers = append(p.servers, &member{client: c, url: redactURL(c.conf.BaseURL), avoid: map[string]pause{}})
	}

	return p, nil
}

// Server is one server of a pool.
type Server struct {
	*Client
	URL string // without a password
}

// Servers returns the servers of the pool, in order.
func (p *Pool) Servers() []Server {
	var out []Server
	for _, s := range p.servers {
		out = append(out, Server{Client: s.client, URL: s.url})
	}

	return out
}

// Complete calls one server and, if that one does not answer, lacks the model or is throttled, the others in turn, each
// at most once. It avoids such a server for a few seconds as long as there are others. A refused request is a refused
// or invalid fault and is not sent to another server. If no server answers, the fault is throttled with the smallest
// Retry-After if any server was throttled, and otherwise transient.
func (p *Pool) Complete(ctx context.Context, request chat.Request) (res chat.Response, err error) {
	err = p.tryServers(ctx, request.Model, request.User, func(client *Client) error {
		res, err = client.Complete(ctx, request)

		return err
	})

	return res, err
}

// Score requests the log-probabilities of answers from one server, and from others in turn as Complete does. If a
// server cannot score answers, the error is an invalid fault that wraps chat.ErrNoScores.
func (p *Pool) Score(ctx context.Context, scoreRequest chat.ScoreRequest) (res []chat.Score, err error) {
	err = p.tryServers(ctx, scoreRequest.Model, scoreRequest.User, func(client *Client) error {
		res, err = client.Score(ctx, scoreRequest)

		return err
	})

	return res, err
}

// tryServers makes a call about a model and a prompt to one server after another, until one of them answers or refuses.
func (p *Pool) tryServers(ctx context.Context, model, prompt string, call func(*Client) error) error {
	if err := failpoint.Hit("ask.policy"); err != nil {
		return err
	}
	kind := fault.Transient
	after := time.Duration(0)
	var reasons []string
	for left := p.order(model, prompt); len(left) > 0; {
		var s *member
		s, left = p.take(left, model)
		err := p.callMember(ctx, s, model, call)
		k := fault.KindOf(err)
		if err == nil || ctx.Err() != nil || k != fault.Transient && k != fault.Throttled {
			return err
		}

		reasons = append(reasons, s.url+": "+brief(err.Error()))
		if k == fault.Throttled {
			kind = k
			if duration := fault.RetryAfter(err); after == 0 || duration > 0 && duration < after {
				after = duration
			}
		}
	}

	return fault.After(kind, after,
		"no policy server answers for model %s: %s", model, strings.Join(reasons, "; "))
}

// order returns all servers in the order of a rendezvous hash of the model and the prompt's beginning. The order is the
// same in every process, and adding or removing a server moves only that server's share.
func (p *Pool) order(model, prompt string) []*member {
	rank := map[*member]string{}
	for _, s := range p.servers {
		sum := sha256.Sum256([]byte(s.url + "\x00" + model + "\x00" + beginning(prompt, prefix)))
		rank[s] = string(sum[:])
	}

	return slices.SortedFunc(slices.Values(p.servers), func(a, b *member) int {
		return strings.Compare(rank[a], rank[b])
	})
}

// take chooses one of the servers, counts a request for it, and returns it and the remaining ones. It chooses an
// avoided server only if all are avoided.
func (p *Pool) take(left []*member, model string) (*member, []*member) {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := p.now()
	open := slices.DeleteFunc(slices.Clone(left), func(s *member) bool {
		return now.Before(s.avoid[""].until) || now.Before(s.avoid[model].until)
	})

	if len(open) == 0 {
		open = left
	}

	least := slices.MinFunc(open, func(a, b *member) int { return a.outstanding - b.outstanding }).outstanding
	s := open[slices.IndexFunc(open, func(s *member) bool { return s.outstanding <= least+slack })]
	s.outstanding++

	return s, slices.DeleteFunc(left, func(x *member) bool { return x == s })
}

// callMember calls a chosen server and records the outcome.
func (p *Pool) callMember(ctx context.Context, s *member, model string, call func(*Client) error) (err error) {
	start := p.now()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()

		s.outstanding--
		switch kind := fault.KindOf(err); {
		case err == nil:
			s.noteSuccess(model)
		case ctx.Err() != nil: // no evidence about the server
		case statusOf(err) == http.StatusNotFound:
			s.noteFailure(model, start, p.now(), 0)
		case kind == fault.Transient || kind == fault.Throttled:
			s.noteFailure("", start, p.now(), fault.RetryAfter(err))
		}
	}()

	return call(s.client)
}

// noteSuccess stops avoiding the server and the server's model. Callers hold mu.
func (s *member) noteSuccess(model string) {
	delete(s.avoid, "")
	delete(s.avoid, model)
}

// noteFailure avoids a server for the time that it requests or, without one, for twice as long as before. It ignores
// failures of calls that began before the last recorded failure, because a server that stops fails all its calls
// together. Callers hold mu.
func (s *member) noteFailure(key string, start, now time.Time, length time.Duration) {
	maps.DeleteFunc(s.avoid, func(_ string, a pause) bool { return now.Sub(a.until) > maxAvoid })
	a := s.avoid[key]
	if start.Before(a.since) {
		return
	}

	if length == 0 {
		a.length = min(max(2*a.length, firstAvoid), maxAvoid)
		length = a.length
	}

	a.since = now
	a.until = now.Add(min(length, maxAvoid))
	s.avoid[key] = a
}

// beginning returns the first n characters of a text.
func beginning(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}

	return text
}

var (
	_ chat.Model  = (*Pool)(nil)
	_ chat.Scorer = (*Pool)(nil)
)
