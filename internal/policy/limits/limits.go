// Package limits shares the requests and tokens per minute of a chat endpoint among all workers, through Redis. While
// Redis is down, every worker keeps to its share, which depends on the number of workers last seen.
//
// It links no browser driver. It links no Temporal.
package limits

import (
	"context"
	"crypto/rand"
	"math"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/collabui/collabui/fault"
)

// Limit is the limit of an endpoint, for all workers together.
type Limit struct {
	Name     string // name of the endpoint: its base URL and model
	Requests int    // per minute; 0 means no limit
	Tokens   int    // per minute, of prompts and answers; 0 means no limit
}

// Limiter is the limiter of a worker. It is safe for concurrent use.
type Limiter struct {
	client redis.UniversalClient // if nil, Redis counts as down
	id     string

	// Failed is called when Redis fails to give a turn, so that this worker keeps to its share. It is called again for
	// every retry, which are retryPause apart, and with nil for the first turn after that. It must not call the
	// limiter, and must be set before the first turn.
	Failed func(error)

	now   func() time.Time
	began time.Time // turns are timed from an hour before it, so that setting the clock does not move them

	mu       sync.Mutex
	ownTurns map[string]*turns // turns by limit, for use while Redis is down
	peers    int               // number of workers last seen, including this one
	retryAt  time.Time         // time before which Redis is not called

	failing bool // whether Redis failed to give the previous turn
}

// turns holds the times, in ms, from which the next request and the next token are free.
type turns struct{ requests, tokens float64 }

// Parameters of limits.
const (
	burst      = 10 * time.Second // the share of this time may be used at once
	maxWait    = 10 * time.Minute // a turn that is farther away is not reserved
	retryPause = 5 * time.Second  // between retries while Redis is down
)

// Over returns a limiter that uses Redis through a client. If the client is nil, Redis counts as down. id must be
// unique among the workers.
func Over(client redis.UniversalClient, id string) *Limiter {
	return &Limiter{
		client: client, id: id, ownTurns: map[string]*turns{}, peers: 1, now: time.Now, began: time.Now(),
	}
}

// script reserves a turn. KEYS are the two clocks and the set of workers. ARGV are the requests and tokens per minute,
// the tokens wanted, the worker, the burst and the longest wait in ms, and 1 for a request or 0 for a correction. It
// returns the wait in ms and the number of workers. A clock advances by the cost of every turn and never lags behind by
// more than the burst. A clock that is farther ahead than any turn can be reserved dates from before the machine's time
// was set back, and is reset.
var script = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
redis.call('ZADD', KEYS[3], now, ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - 60000)
redis.call('PEXPIRE', KEYS[3], 120000)
local function free(key)
  local at = tonumber(redis.call('GET', key) or '0')
  if at > now + 2 * ARGV[6] then at = 0 end
  return math.max(at, now - ARGV[5])
end
local r, k, wait = free(KEYS[1]), free(KEYS[2]), 0
if tonumber(ARGV[7]) == 1 then
  if tonumber(ARGV[1]) > 0 then wait = math.max(wait, r - now) end
  if tonumber(ARGV[2]) > 0 then wait = math.max(wait, k - now) end
end
if wait <= tonumber(ARGV[6]) then
  if tonumber(ARGV[1]) > 0 and tonumber(ARGV[7]) == 1 then
    redis.call('SET', KEYS[1], string.format('%.3f', r + 60000 / ARGV[1]), 'PX', 3600000)
  end
  if tonumber(ARGV[2]) > 0 then
    redis.call('SET', KEYS[2], string.format('%.3f', k + 60000 * ARGV[3] / ARGV[2]), 'PX', 3600000)
  end
end
return {string.format('%.0f', math.ceil(wait)), redis.call('ZCARD', KEYS[3])}
`)

// Wait reserves a request with the given number of tokens and waits for its turn. Waiting here uses up no attempts of
// an activity. If the turn is too far away, Wait reserves nothing and returns a throttled fault with the time after
// which to retry.
func (l *Limiter) Wait(ctx context.Context, limit Limit, tokens int) error {
	if limit.Requests == 0 && limit.Tokens == 0 {
		return nil
	}

	wait := l.turn(ctx, limit, tokens, true)
	if wait > maxWait {
		return fault.After(fault.Throttled, wait-maxWait/2,
			"%s: the next turn within %d requests and %d tokens per minute is %v away",
			limit.Name, limit.Requests, limit.Tokens, wait.Round(time.Second))
	}

	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Settle corrects a reservation by the number of tokens that a call used in excess of it. A negative number returns
// tokens.
func (l *Limiter) Settle(ctx context.Context, limit Limit, tokens int) {
	if limit.Tokens > 0 && tokens != 0 {
		l.turn(ctx, limit, tokens, false)
	}
}

// turn returns how long to wait for a turn, by Redis or, if that is down, by this worker's share. It reserves the turn
// unless the wait is longer than maxWait. request is false for a correction of tokens, which never waits.
func (l *Limiter) turn(ctx context.Context, limit Limit, tokens int, request bool) time.Duration {
	l.mu.Lock()
	ask := l.client != nil && !l.now().Before(l.retryAt)
	l.mu.Unlock()

	if !ask {
		l.mu.Lock()
		defer l.mu.Unlock()

		return l.ownTurn(limit, tokens, request)
	}

	wait, peers, err := l.sharedTurn(ctx, limit, tokens, request)

	l.mu.Lock()
	defer l.mu.Unlock()

	if err != nil && ctx.Err() == nil || err == nil && l.failing {
		l.failing = err != nil
		if l.Failed != nil {
			l.Failed(err)
		}
	}
	if err != nil {
		l.retryAt = l.now().Add(retryPause)

		return l.ownTurn(limit, tokens, request)
	}
	l.peers = max(1, peers)

	return wait
}

// keys returns the keys of the script. The tag in braces puts all keys of all limits into one slot of a cluster,
// because the script uses the set of workers together with each of them.
func keys(limit, workers string) []string {
	const prefix = "collabui:{limit}:"

	return []string{prefix + limit + "requests", prefix + limit + "tokens", prefix + workers + "workers"}
}

// Check reserves a turn of a limit of its own, and returns a transient fault if Redis does not give one. It removes the
// limit again.
func Check(ctx context.Context, client redis.UniversalClient) error {
	name := "/" + rand.Text() + ":"
	probeKeys := keys(name, name)
	err := script.Run(ctx, client, probeKeys, 60, 60, 1, "check", burst.Milliseconds(), maxWait.Milliseconds(), 1).Err()
	if err == nil {
		err = client.Del(ctx, probeKeys...).Err()
	}
	if err != nil {
		return fault.New(fault.Transient, "limits are not shared: %w", err)
	}

	return nil
}

// sharedTurn reserves a turn in Redis. It also returns the number of workers.
func (l *Limiter) sharedTurn(
	ctx context.Context, limit Limit, tokens int, request bool,
) (wait time.Duration, peers int, err error) {
	reserve := 0
	if request {
		reserve = 1
	}

	res, err := script.Run(ctx, l.client, keys(limit.Name+":", ""),
		limit.Requests, limit.Tokens, tokens, l.id, burst.Milliseconds(), maxWait.Milliseconds(), reserve).Int64Slice()
	if err != nil {
		return 0, 0, err
	}

	return time.Duration(res[0]) * time.Millisecond, int(res[1]), nil
}

// ownTurn reserves a turn by this worker's share and returns how long to wait for it. Callers hold mu.
func (l *Limiter) ownTurn(limit Limit, tokens int, request bool) time.Duration {
	now := float64((time.Hour + l.now().Sub(l.began)).Microseconds()) / 1000
	t := l.ownTurns[limit.Name]
	if t == nil {
		t = &turns{}
		l.ownTurns[limit.Name] = t
	}

	behind := now - float64(burst.Milliseconds())/float64(l.peers)
	t.requests = math.Max(t.requests, behind)
	t.tokens = math.Max(t.tokens, behind)

	wait := 0.0
	share := float64(l.peers)
	if request && limit.Requests > 0 {
		wait = math.Max(wait, t.requests-now)
	}
	if request && limit.Tokens > 0 {
		wait = math.Max(wait, t.tokens-now)
	}

	if wait <= float64(maxWait.Milliseconds()) {
		if request && limit.Requests > 0 {
			t.requests += 60000 * share / float64(limit.Requests)
		}
		if limit.Tokens > 0 {
			t.tokens += 60000 * share * float64(tokens) / float64(limit.Tokens)
		}
	}

	return time.Duration(math.Ceil(wait)) * time.Millisecond
}
