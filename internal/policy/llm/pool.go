package llm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/fault"
)

// How servers are chosen.
const (
	slack      = 2                // outstanding requests that a server may have more than another and still get those whose prompts it knows
	prefix     = 600              // characters of the user's message that say which prompts begin alike
	firstAvoid = 2 * time.Second  // after a failure; doubles with every further one
	maxAvoid   = 30 * time.Second // and is never longer
	lateLoad   = 5 * time.Second  // that Load waits for the other servers when its quorum is there
	maxReason  = 400              // characters of what one server says, in errors
)

// Pool is several policy servers behind one chat. A request goes to the server with the fewest outstanding requests of this process; where the difference is
// small, to the one that saw prompts with the same beginning. Answers must not depend on the server. Safe for concurrent use; calls may be repeated.
type Pool struct {
	servers []*member
	now     func() time.Time
	late    time.Duration

	mu sync.Mutex // of all that follows, and of the servers' outstanding and avoid
}

type member struct {
	client      *Client
	url         string // without a password
	outstanding int
	avoid       map[string]pause // by model that it lacks; "": the whole server
}

// pause is how long a server is avoided.
type pause struct {
	since, until time.Time
	length       time.Duration
}

// PolicyServers reaches one or more policy servers by their base URLs up to /v1; it makes no request. key is sent as a bearer token, if there is one. timeout
// is of one call to one server; 0 means two minutes. No URL, or one that is not http or https, is an invalid fault.
func PolicyServers(urls []string, key string, timeout time.Duration) (*Pool, error) {
	if len(urls) == 0 {
		return nil, fault.New(fault.Invalid, "no policy server is named: set COLLABUI_POLICY to base URLs up to /v1, separated by commas")
	}
	p := &Pool{now: time.Now, late: lateLoad}
	for _, base := range urls {
		if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fault.New(fault.Invalid, "policy server %s: expected a base URL like http://HOST:8000/v1", redacted(base))
		}
		c, err := New(Config{BaseURL: base, APIKey: key, Timeout: timeout, LogProbs: true, Seeds: true})
		if err != nil {
			return nil, err
		}
		p.servers = append(p.servers, &member{client: c, url: redacted(c.conf.BaseURL), avoid: map[string]pause{}})
	}
	return p, nil
}

// Complete asks one server, and the others after it where it does not answer, lacks the model or is throttled; each at most once. Such a server is avoided
// for a few seconds while others are there. A refused request is an invalid fault and is not asked elsewhere. Where no server answers the fault is throttled
// with the smallest Retry-After if any of them was throttled, else transient.
func (p *Pool) Complete(ctx context.Context, r chat.Request) (chat.Response, error) {
	kind, after := fault.Transient, time.Duration(0)
	var reasons []string
	for left := p.order(r); len(left) > 0; {
		var s *member
		s, left = p.take(left, r.Model)
		res, err := p.ask(ctx, s, r)
		k := fault.KindOf(err)
		if err == nil || ctx.Err() != nil || k != fault.Transient && k != fault.Throttled {
			return res, err
		}
		reasons = append(reasons, s.url+": "+brief(err.Error()))
		if k == fault.Throttled {
			kind = k
			if a := fault.RetryAfter(err); after == 0 || a > 0 && a < after {
				after = a
			}
		}
	}
	return chat.Response{}, fault.After(kind, after, "no policy server answers for model %s: %s", r.Model, strings.Join(reasons, "; "))
}

// order gives all servers, the one first that a rendezvous hash prefers for this model and beginning of the prompt: it is the same in every process, and a
// server that comes or goes moves only its own share.
func (p *Pool) order(r chat.Request) []*member {
	rank := map[*member]string{}
	for _, s := range p.servers {
		sum := sha256.Sum256([]byte(s.url + "\x00" + r.Model + "\x00" + first(r.User, prefix)))
		rank[s] = string(sum[:])
	}
	return slices.SortedFunc(slices.Values(p.servers), func(a, b *member) int { return strings.Compare(rank[a], rank[b]) })
}

// take chooses one of the servers, counts a request for it and gives it and the rest. Avoided ones are chosen when no other is left.
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

// ask makes the call of a chosen server and notes how it went.
func (p *Pool) ask(ctx context.Context, s *member, r chat.Request) (res chat.Response, err error) {
	start := p.now()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		s.outstanding--
		switch k := fault.KindOf(err); {
		case err == nil:
			s.answered(r.Model)
		case ctx.Err() != nil: // says nothing about the server
		case statusOf(err) == http.StatusNotFound:
			s.failed(r.Model, start, p.now(), 0)
		case k == fault.Transient || k == fault.Throttled:
			s.failed("", start, p.now(), fault.RetryAfter(err))
		}
	}()
	return s.client.Complete(ctx, r)
}

// answered ends all avoiding. Callers hold mu.
func (s *member) answered(model string) {
	delete(s.avoid, "")
	delete(s.avoid, model)
}

// failed avoids a server, for as long as it asks or twice as long as before. Failures of calls that began before the last one was noted are no news: a server
// that ends fails all its calls at once. Callers hold mu.
func (s *member) failed(key string, start, now time.Time, asked time.Duration) {
	maps.DeleteFunc(s.avoid, func(_ string, a pause) bool { return now.Sub(a.until) > maxAvoid })
	a := s.avoid[key]
	if start.Before(a.since) {
		return
	}
	if asked == 0 {
		a.length = min(max(2*a.length, firstAvoid), maxAvoid)
		asked = a.length
	}
	a.since, a.until = now, now.Add(min(asked, maxAvoid))
	s.avoid[key] = a
}

// Load asks all servers at once to load a policy and succeeds when quorum of them have it; the others get a few seconds more. quorum is 1 to the number of
// servers; 0: all. Else the fault names the servers that failed and why: invalid where one of them refuses the policy, transient otherwise. It may be repeated.
func (p *Pool) Load(ctx context.Context, name string, quorum int) error {
	n := len(p.servers)
	if quorum < 0 || quorum > n {
		return fault.New(fault.Invalid, "load policy %s: a quorum of %d policy servers is asked for, there are %d; lower it or name more servers in COLLABUI_POLICY", name, quorum, n)
	}
	if quorum == 0 {
		quorum = n
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		i   int
		err error
	}
	done, errs, loaded := make(chan result, n), make([]error, n), 0
	for i, s := range p.servers {
		go func() { done <- result{i, s.client.Load(inner, name)} }()
	}
	var late <-chan time.Time
	for range n {
		select {
		case r := <-done:
			if errs[r.i] = r.err; r.err != nil {
				continue
			}
			p.mu.Lock()
			p.servers[r.i].answered(name)
			p.mu.Unlock()
			if loaded++; loaded == quorum {
				late = time.After(p.late)
			}
		case <-late:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	switch {
	case loaded >= quorum:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	kind := fault.Transient
	var reasons []string
	for i, err := range errs {
		if err != nil {
			reasons = append(reasons, p.servers[i].url+": "+err.Error())
			if fault.KindOf(err) == fault.Invalid {
				kind = fault.Invalid
			}
		}
	}
	return fault.New(kind, "policy %s is on %d of %d policy servers, %d are needed: %s", name, loaded, n, quorum, strings.Join(reasons, "; "))
}

// ServerState is what Health found. Outstanding counts this process's requests.
type ServerState struct {
	URL         string // without a password
	OK          bool
	Detail      string // what is wrong; empty where OK
	Outstanding int
}

// maxHealth is how long a server may take to say that it is well.
const maxHealth = 5 * time.Second

// Health asks all servers at once whether they are well, in the order in which they were named. It takes five seconds at most.
func (p *Pool) Health(ctx context.Context) []ServerState {
	ctx, cancel := context.WithTimeout(ctx, maxHealth)
	defer cancel()
	out := make([]ServerState, len(p.servers))
	var wg sync.WaitGroup
	for i, s := range p.servers {
		wg.Go(func() {
			status, body, err := s.client.send(ctx, http.MethodGet, strings.TrimSuffix(s.client.conf.BaseURL, "/v1")+"/health", nil)
			switch {
			case err != nil:
				out[i].Detail = brief(err.Error())
			case status != http.StatusOK:
				out[i].Detail = fmt.Sprintf("/health answers %d %s", status, body)
			}
		})
	}
	wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.servers {
		out[i].URL, out[i].OK, out[i].Outstanding = s.url, out[i].Detail == "", s.outstanding
	}
	return out
}

// alreadyThere is how servers refuse an adapter that they have: vLLM and SGLang with status 400.
var alreadyThere = regexp.MustCompile(`(?i)already (been )?loaded`)

// Load asks the server to load a policy by the paths of vLLM; loaded already is success, so it may be repeated. A policy that the server cannot find is a
// transient fault like a server that does not answer, one that it refuses an invalid fault; both have the first 400 characters of what the server says.
func (c *Client) Load(ctx context.Context, name string) error {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, c.conf.Timeout)
	defer cancel()
	body, err := json.Marshal(map[string]string{"lora_name": name, "lora_path": name})
	if err != nil {
		return fault.As(fault.Fatal, err)
	}
	status, says, err := c.send(ctx, http.MethodPost, c.conf.BaseURL+"/load_lora_adapter", body)
	switch {
	case err != nil && parent.Err() != nil:
		return context.Cause(parent)
	case err != nil && ctx.Err() != nil:
		return fault.New(fault.Transient, "load policy %s: no answer within %v", name, c.conf.Timeout)
	case err != nil:
		return fault.New(fault.Transient, "load policy %s: %w", name, err)
	case status == http.StatusOK, status == http.StatusBadRequest && alreadyThere.MatchString(says):
		return nil
	}
	kind := fault.Transient
	if status >= 400 && status < 500 && !slices.Contains([]int{http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, status) {
		kind = fault.Invalid
	}
	return fault.New(kind, "load policy %s: the server answered %d %s: %s", name, status, http.StatusText(status), says)
}

// send makes a request outside of the chat API and gives the status and the beginning of what the server says.
func (c *Client) send(ctx context.Context, method, url string, body []byte) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(string(body)))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.conf.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.conf.APIKey)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	says, err := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	return res.StatusCode, brief(string(says)), err
}

// first cuts a text to its first n characters.
func first(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// brief is the beginning of what a server says, on one line.
func brief(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	return first(strings.Join(strings.Fields(s), " "), maxReason)
}

var _ chat.Model = (*Pool)(nil)
