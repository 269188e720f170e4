package simulation

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/policy/limits"
	"github.com/collabui/collabui/test/kit/fakepolicy"
)

// policies answers for all policies, unless the scheduler strikes.
type policies struct {
	*scheduler
	version string
	learned func(policy string) bool // whether a policy acts rightly; nil: none does
}

func (p policies) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	// A reader answers to other messages with one seed.
	if err := p.ask(ctx, fmt.Sprintf("chat %x %x", request.Seed, domain.Seed(0, request.User))); err != nil {
		return chat.Response{}, err
	}

	if p.learned != nil && p.learned(request.Model) {
		return fakepolicy.Graduate{Model: fakepolicy.Policies{}, Learned: p.learned}.Complete(ctx, request)
	}
	request.Seed ^= salt(p.version)
	res, err := fakepolicy.Policies{}.Complete(ctx, request)
	for i := range res.Texts {
		res.Texts[i] = oddAnswer(res.Texts[i], domain.Seed(request.Seed, "odd", i))
	}

	return res, err
}

// salt changes the results of another version of the workers.
func salt(version string) uint64 { return domain.Seed(0, version) }

// oddAnswer turns one of eight answers into one that models give, but should not. Equal requests always get equal
// answers.
func oddAnswer(answer string, seed uint64) string {
	switch seed % 64 {
	case 0:
		return ""
	case 1:
		return "I cannot help with that."
	case 2:
		return answer[:len(answer)-3]
	case 3:
		return strings.Repeat(answer, 20)
	case 4:
		return strings.ReplaceAll(answer, "click", "explode")
	case 5:
		return "Action: {\"type\":\"click\",\"element\":99}"
	case 6:
		return answer + "\x00\ufffd</script>" + answer
	case 7:
		return "Action: [1, {\"type\": null}]"
	}

	return answer
}

func (p policies) Score(ctx context.Context, scoreRequest chat.ScoreRequest) ([]chat.Score, error) {
	seed := domain.Seed(0, scoreRequest.User, fmt.Sprint(scoreRequest.Answers))
	if err := p.ask(ctx, fmt.Sprintf("score %.8s %x", scoreRequest.Model, seed)); err != nil {
		return nil, err
	}

	return fakepolicy.Policies{}.Score(ctx, scoreRequest)
}

// critic is a chat endpoint that grades cells, as a function of their text.
type critic struct {
	*scheduler
	version string
}

var cell = regexp.MustCompile(`(?m)^(\d+\.\d+)\n\| [^\n]*Action: (\{[^\n]*\})$`)

func (c critic) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	seed := domain.Seed(0, request.User)
	kind, after, err := c.at(ctx, fmt.Sprintf("critic %x", seed), modelFaults...)
	if err != nil {
		return chat.Response{}, err
	}
	after()
	switch kind {
	case ModelDown:
		return chat.Response{}, fault.New(fault.Transient, "simulation: no chat endpoint answers")
	case ModelBusy:
		return chat.Response{}, fault.After(fault.Throttled, 20*time.Second, "simulation: too many requests")
	case ModelHangs:
		time.Sleep(2 * time.Minute)

		return chat.Response{}, fault.New(fault.Transient, "simulation: no answer in time")
	}
	var grades []string
	for _, parts := range cell.FindAllStringSubmatch(request.User, -1) {
		grades = append(grades, fmt.Sprintf(`{"cell":%q,"reason":"r","score":%d}`,
			parts[1], domain.Seed(salt(c.version), parts[2])&1))
	}
	text := `{"grades":[` + strings.Join(grades, ",") + `]}`
	switch domain.Seed(seed, "odd", request.Seed) % 16 {
	case 0:
		text = "Sure! Here are the grades:\n```json\n" + text + "\n```"
	case 1:
		text = text[:len(text)/2]
	case 2:
		text = `{"grades":[]}`
	case 3:
		text = `{"grades":[{"cell":"99.99","reason":"r","score":1},{"cell":"1.1","score":7}]}`
	}

	return chat.Response{Texts: []string{text}, Usage: domain.Usage{Prompt: 1, Answer: 1}}, ctx.Err()
}

// turns are the limits of the chat endpoint. Calls that waited for the same reading of the budget continue at the same
// time, so the scheduler decides which of them gets the next turn of a worker that does not reach Redis.
type turns struct {
	*scheduler
	endpoints.Limiter
}

func (l turns) Wait(ctx context.Context, of limits.Limit, tokens int) error {
	_, after, err := l.at(ctx, "turn")
	if err != nil {
		return err
	}
	after()

	return l.Limiter.Wait(ctx, of, tokens)
}

// redis returns a client of a Redis that the scheduler may cut off or flush.
func (s *scheduler) redis(server *miniredis.Miniredis) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	client.AddHook(&redisHook{s, server})

	return client
}

type redisHook struct {
	*scheduler
	server *miniredis.Miniredis
}

func (h *redisHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *redisHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		kind, after, err := h.at(ctx, "redis "+cmd.Name(), redisFaults...)
		if err == nil && kind == RedisDown {
			err = errors.New("simulation: no connection to Redis")
		}
		if err != nil {
			cmd.SetErr(err)

			return err
		}
		if kind == RedisFlush {
			h.server.FlushAll()
		}
		h.server.SetTime(time.Now())
		err = next(ctx, cmd)
		after()

		return err
	}
}

// ask makes one request to a policy server.
func (p policies) ask(ctx context.Context, name string) error {
	kind, after, err := p.at(ctx, name, policyFaults...)
	if err != nil {
		return err
	}
	after()
	switch kind {
	case PolicyDown:
		return fault.New(fault.Transient, "simulation: no policy server answers")
	case PolicyBusy:
		return fault.New(fault.Throttled, "simulation: too many requests")
	}

	return ctx.Err()
}

// suite is the scripted suite, whose environments die or show odd things when the scheduler decides it.
type suite struct {
	*scripted.Suite
	*scheduler
	version string
}

func (x suite) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := x.Suite.Open(ctx)
	if err != nil {
		return nil, err
	}

	return &environment{scriptable: e.(scriptable), scheduler: x.scheduler, version: x.version}, nil
}

// scriptable contains all methods of an environment of the scripted suite.
type scriptable interface {
	envadapters.Environment
	envadapters.Judge
	envadapters.Expert
	envadapters.Replayable
}

type environment struct {
	scriptable
	*scheduler
	version string
	dead    bool
}

func (e *environment) Reset(ctx context.Context, task domain.Task) (envadapters.Transition, error) {
	return e.strike(ctx, "reset", func() (envadapters.Transition, error) { return e.scriptable.Reset(ctx, task) })
}

func (e *environment) Step(ctx context.Context, action domain.Action) (envadapters.Transition, error) {
	return e.strike(ctx, "step", func() (envadapters.Transition, error) { return e.scriptable.Step(ctx, action) })
}

func (e *environment) Score(ctx context.Context) (envadapters.Score, error) {
	if e.dead {
		return envadapters.Score{}, errDeadEnvironment
	}

	return e.scriptable.Score(ctx)
}

var errDeadEnvironment = fault.New(fault.Void, "simulation: the environment is dead")

// strike makes the environment act. An odd environment shows something that it will not show again, and dies.
func (e *environment) strike(
	ctx context.Context, name string, do func() (envadapters.Transition, error),
) (envadapters.Transition, error) {
	kind, after, err := e.at(ctx, name, environmentFaults...)
	switch {
	case err != nil:
		return envadapters.Transition{}, err
	case e.dead, kind == EnvironmentDies:
		e.dead = true

		return envadapters.Transition{}, errDeadEnvironment
	}
	tr, err := do()
	after()
	if e.version == other {
		tr.Observation = changed(tr.Observation, e.version)
	}
	if kind == EnvironmentOdd && len(tr.Observation.Elements) > 0 {
		e.dead = true
		tr.Observation = changed(tr.Observation, "odd")
	}

	return tr, err
}

// changed returns an observation with a longer text in its first element.
func changed(observation domain.Observation, more string) domain.Observation {
	observation.Elements = slices.Clone(observation.Elements)
	if len(observation.Elements) > 0 {
		observation.Elements[0].Text += " " + more
	}

	return observation
}
