package preflight

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/policy/endpoints"
)

// answerTime limits the trial of a model, for a person waits. A model that thinks needs long.
const answerTime = 2 * time.Minute

// trialCalls is the largest number of requests in the trial of a model. Each of them is paid for.
const trialCalls = 2

// seat is a model that plays a role.
type seat struct {
	name spec.Role
	role string // of its prompt
}

// part returns what the model plays, for people.
func (s seat) part() string {
	switch s.role {
	case prompts.Questions:
		return "author of level 1"
	case prompts.Instructions:
		return "author of level 2"
	}

	return s.role
}

// trialScreen returns the screen that trials show. Only web pages name their elements; others number them.
func trialScreen(family domain.Family) domain.Observation {
	const width, height = 400, 100
	screen := domain.Observation{Width: width, Height: 3 * height}
	for i, text := range []string{"This screen is a trial", "Save", "Delete"} {
		element := domain.Element{Index: i, Role: "button", Text: text, Visible: true}
		element.Bounds = domain.Rect{10, 10 + i*height, width - 10, (i+1)*height - 10}
		if i == 0 {
			element.Role = "text"
		}
		if family == domain.FamilyWeb {
			element.ID = string(rune('A' + i))
		}
		screen.Elements = append(screen.Elements, element)
	}

	return screen
}

// trialStep returns a step at which two agents propose two actions. One of them is right.
func trialStep(family domain.Family) domain.Step {
	step := domain.Step{Number: 1, Goal: "Save the note", Observation: trialScreen(family)}
	for i, element := range step.Observation.Elements[1:] {
		action := domain.Action{Family: family, Type: domain.ActionClick}.At(element.Index)
		if family == domain.FamilyWeb {
			action = domain.Action{Family: family, Type: domain.ActionClick, Element: element.ID}
		}
		step.Decision.Cells = append(step.Decision.Cells, domain.Cell{
			Agent: i, Text: "Reason: the goal names it\nAction: " + action.JSON(), Action: &action,
			Canonical: action.Canonical(step.Observation),
		})
	}

	return step
}

// trials tries models.
type trials struct {
	endpoints *endpoints.Endpoints
	quiet     bool            // only look for the keys of the models
	seen      map[string]bool // models that were tried in the same role
}

// tryModels sends models the requests of their roles, concurrently, and notes why a run with them could not end. Roles
// without an endpoint are left out.
func (t trials) tryModels(ctx context.Context, given spec.Spec, seats []seat, o *obstacles) {
	found := make([]obstacles, len(seats))
	var all errgroup.Group
	for i, one := range seats {
		model, ok := given.Models[one.name]
		id := fmt.Sprintf("%+v %s %+v %s", one, given.Family(), model, given.Prompts[one.role])
		if !ok || t.seen[id] {
			continue
		}
		t.seen[id] = true
		all.Go(func() error {
			t.tryModel(ctx, given, one, &found[i])

			return nil
		})
	}
	_ = all.Wait()

	for _, ofSeat := range found {
		for _, obstacle := range ofSeat {
			if !slices.Contains(*o, obstacle) {
				*o = append(*o, obstacle)
			}
		}
	}
}

// tryModel tries one model.
func (t trials) tryModel(ctx context.Context, given spec.Spec, one seat, o *obstacles) {
	model := given.Models[one.name]
	where := "models." + string(one.name)
	trial, prompt, err := t.endpoints.Trial(given, one.name, one.role)
	if err != nil || t.quiet {
		o.add(ctx, where, err)

		return
	}

	limit := min(time.Duration(model.Timeout*float64(time.Second)), answerTime)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for try := range trialCalls {
		err := playRole(limited, given, one, trial, prompt, uint64(try))
		err = cmp.Or(trial.Err, err) // roles take some refusals for data
		switch {
		case err != nil && fault.KindOf(err) == fault.Throttled:
			o.addWait(where, err) // a model that is busy can be used

			return
		case err != nil && limited.Err() != nil:
			o.add(ctx, where, fmt.Errorf("no answer within %s: start its server, or give --no-probe if it only needs "+
				"longer (%w)", limit, err))

			return
		case err != nil:
			o.add(ctx, where, refusedTrial(err, where))

			return
		}
		problem := whyUseless(trial.Last, model, one, trial.Wrong)
		if problem == "" {
			o.addLeftOut(where, model, trial.Last)
			o.add(ctx, where, trial.CheckTurns(limited))

			return
		}
		if trial.Last.Cut || trial.Calls >= trialCalls { // the next answer would be cut, too
			o.add(ctx, where, fault.New(fault.Invalid, "%s", problem))

			return
		}
	}
}

// playRole requests one answer of a role, whose own code reads it.
func playRole(
	ctx context.Context, specification spec.Spec, one seat, trial *endpoints.Trial, prompt *prompts.Prompt, seed uint64,
) (err error) {
	model := specification.Models[one.name]
	shown, err := trialImage()
	if err != nil {
		return err
	}
	chatted := showing{trial, shown}
	step := trialStep(specification.Family())
	if specification.Observation.Pictured() {
		step.Decision.Image = shown.Digest
	}
	forms := prompts.FormsOf(string(specification.Family()))
	right := step.Decision.Cells[0]
	screen := synth.Screen{Step: 1, Observation: step.Observation, Action: right.Action, Image: shown.Digest}
	author := synth.Model{
		Chat: chatted, Prompt: prompt, Images: model.Images, Forms: forms, Temperature: model.Temperature,
		Limits: specification.Prompt,
	}
	switch one.role {
	case prompts.Critic:
		critic := credit.ModelCritic{Chat: chatted, Prompt: prompt, Forms: forms, Limits: specification.Prompt}
		_, _, err = critic.Label(ctx, step, seed)
	case prompts.Adversary:
		adversary := credit.ModelAdversary{
			Chat: chatted, Prompt: prompt, Forms: forms,
			Temperature: specification.Adversary.Temperature, TopP: specification.Adversary.TopP,
			Limits: specification.Prompt,
		}
		_, _, err = adversary.Propose(ctx, step, right, specification.Adversary.Candidates, seed)
	case prompts.Questions:
		_, _, err = author.Questions(ctx, screen, specification.Synthesis.Questions, seed)
	case prompts.Instructions:
		_, _, err = author.Instructions(ctx, screen, specification.Synthesis.Instructions, seed)
	case prompts.Summariser:
		happened := agents.ExecutedStep{Step: 1, Goal: step.Goal, Line: "1 click", Before: screen.Observation}
		happened.After = happened.Before
		happened.Pictures = chat.Stored(step.Decision.Image)
		_, err = agents.ModelSummary(ctx, chatted, prompt, happened, seed)
	default:
		err = act(ctx, specification, model, chatted, step, seed)
	}

	return err
}

// showing is a model on trial that is shown one picture, whichever is meant.
type showing struct {
	*endpoints.Trial
	picture chat.Image
}

func (s showing) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	request.Images = slices.Clone(request.Images)
	for i := range request.Images {
		request.Images[i] = s.picture
	}

	return s.Trial.Complete(ctx, request)
}

// act requests an action, as for agents that are chat models.
func act(
	ctx context.Context, given spec.Spec, model spec.Model, trial showing, step domain.Step, seed uint64,
) error {
	template, err := rules.Template(given)
	if err != nil {
		return err
	}
	user, err := template.User(agents.View{Goal: step.Goal, Observation: step.Observation}, "", nil)
	if err != nil {
		return err
	}

	request := chat.Request{
		System: template.System(), User: user, Temperature: model.Temperature, TopP: 1, Seed: seed, N: 1,
	}
	if model.Images {
		request.Images = trial.picture.Images()
	}
	res, err := trial.Complete(ctx, request)
	if err != nil {
		return err
	}
	if _, err := given.Answers.Answer(res.Texts[0]); err != nil {
		res.Read(err.Error())
	}

	return nil
}

// whyUseless returns why the answer to a trial is of no use for a role, with the keys that help.
func whyUseless(answer chat.Response, model spec.Model, one seat, wrong string) string {
	where := "models." + string(one.name)
	text := firstOf(answer.Texts)
	thought := firstOf(answer.Reasoning)

	switch {
	case text == "" && answer.Cut:
		return fmt.Sprintf("as the %s it gave an empty answer, since its thoughts took all of %d tokens "+
			"(finish_reason length): raise %s.max_tokens", one.part(), model.MaxTokens, where)
	case wrong != "" && answer.Cut:
		return fmt.Sprintf("as the %s its answer was cut after %d tokens (finish_reason length), and %s: raise "+
			"%s.max_tokens", one.part(), model.MaxTokens, wrong, where)
	case text == "" && thought != "":
		return fmt.Sprintf("as the %s it gave a thought and no answer: the thought does not end, or its server puts "+
			"the answer into the thought. Raise %s.max_tokens, change how the server parts thoughts from answers, or "+
			"choose another model. The thought begins %q",
			one.part(), where, agents.Line(thought, maxShown))
	case text == "":
		return fmt.Sprintf("as the %s it gave an empty answer: choose another model, or give --no-probe", one.part())
	case wrong != "":
		advice := "choose another model, or give --no-probe"
		if model.Schema == spec.SchemaJSON && one.role != prompts.Agent { // requests of agents have no schema
			advice = fmt.Sprintf("try %s.schema: json_object or none, or ", where) + advice
		}

		return fmt.Sprintf("as the %s it gave an answer that is of no use: %s. The answer begins %q: %s",
			one.part(), wrong, agents.Line(text, maxShown), advice)
	}

	return ""
}

// firstOf returns the first text without surrounding blanks, or an empty text.
func firstOf(texts []string) string {
	if len(texts) == 0 {
		return ""
	}

	return strings.TrimSpace(texts[0])
}

// maxShown is how much of an answer an obstacle quotes, in characters.
const maxShown = 200

// Words with which servers refuse an image or a form of answers.
var (
	imageWords = regexp.MustCompile(`(?i)\bimages?\b|image_url|vision|multi-?modal`)
	formWords  = regexp.MustCompile(`(?i)response[_ ]?format|schema|json`)
)

// refusedTrial returns why a request was refused, with the key that helps.
func refusedTrial(err error, where string) error {
	switch kind, text := fault.KindOf(err), err.Error(); {
	case kind == fault.Refused && imageWords.MatchString(text):
		return fmt.Errorf("%w: set %s.images to false if the model takes no images", err, where)
	case kind == fault.Refused && formWords.MatchString(text):
		return fmt.Errorf("%w: set %s.schema to json_object or none", err, where)
	case kind == fault.Refused:
		return err
	case kind != fault.Invalid:
		return fmt.Errorf("%w: start its server or wait until it is ready, or correct base_url and model", err)
	}

	return err
}

// longWait is the time for which a run should not wait without a word.
const longWait = 10 * time.Minute

// addWait notes a server that wants a long wait: a run that starts now would sleep.
func (o *obstacles) addWait(where string, err error) {
	wait := fault.RetryAfter(err)
	if wait <= longWait {
		return
	}
	*o = append(*o, Obstacle{Where: where, Warning: true, Why: fmt.Sprintf(
		"a run that starts now waits %s for its first answer: start it later, raise the limit at the server, or "+
			"choose another model (%s)", wait.Round(time.Second), err)})
}

// addLeftOut notes which parameters the server refuses, and log-probabilities that it does not return.
func (o *obstacles) addLeftOut(where string, model spec.Model, answer chat.Response) {
	for _, parameter := range slices.Sorted(maps.Keys(answer.LeftOut)) {
		*o = append(*o, Obstacle{Where: where, Warning: true, Why: fmt.Sprintf(
			"the server refuses %s, so requests are made without it, and their records say so (%s)",
			parameter, answer.LeftOut[parameter])})
	}
	if model.Logprobs && answer.LogProbs == nil && answer.LeftOut["logprobs"] == "" {
		*o = append(*o, Obstacle{Where: where, Warning: true, Why: "the server returns no log-probabilities: set " +
			where + ".logprobs to false"})
	}
}

// trialImage returns a small image.
func trialImage() (chat.Image, error) {
	const side = 64
	canvas := image.NewRGBA(image.Rect(0, 0, side, side))
	draw.Draw(canvas, canvas.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)

	var out bytes.Buffer
	err := png.Encode(&out, canvas)

	return chat.NewImage(out.Bytes()), fault.As(fault.Fatal, err)
}
