package interop

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/stats"
	"github.com/collabui/collabui/internal/records/runs"
)

// inspectVersion is the version of the format of Inspect's logs.
const inspectVersion = 2

// inspectScorer is the name of the scorer of an episode: the judge of its environment.
const inspectScorer = "success"

// object is a JSON object of a log. Inspect's types have many fields, of which an episode needs a few.
type object = map[string]any

// InspectLog writes a log of Inspect, sample by sample: a zip file of JSON. Close must be called.
type InspectLog struct {
	Task  string // the task that was played
	Model string // the system that played it
	About object // facts about the run

	zip       *zip.Writer
	at        string // the store keeps no times, so every time is that of the export
	summaries []object
	ids       []int
	usage     domain.Usage
	successes int
	scored    int
	err       error
}

// NewInspectLog returns a log that is written to out. at is the time that the log states.
func NewInspectLog(out io.Writer, at time.Time, task, model string, about map[string]any) *InspectLog {
	log := &InspectLog{
		Task: task, Model: model, About: about, zip: zip.NewWriter(out), at: at.UTC().Format(time.RFC3339),
	}
	log.put("_journal/start.json", object{"version": inspectVersion, "eval": log.eval(), "plan": object{}})

	return log
}

// put writes a file of the log.
func (l *InspectLog) put(name string, value any) {
	if l.err != nil {
		return
	}
	out, err := l.zip.Create(name)
	if err == nil {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(value)
	}
	l.err = err
}

// eval describes the evaluation. It is written twice: before the samples, and after them with their number.
func (l *InspectLog) eval() object {
	id := runs.Digest([]string{l.Task, l.Model})[:22]

	return object{
		"eval_id": id, "run_id": id, "task_id": id, "created": l.at, "task": l.Task, "model": l.Model,
		"dataset": object{"name": l.Task, "samples": len(l.ids), "sample_ids": l.ids, "shuffled": false},
		"config":  object{}, "metadata": l.About,
		"scorers": []object{{"name": inspectScorer, "metrics": []object{{"name": "accuracy"}}}},
	}
}

// Close writes the summaries of all samples. A log that is not complete is marked as started.
func (l *InspectLog) Close(complete bool) error {
	status := "success"
	if !complete {
		status = "started"
	}
	if l.summaries == nil {
		l.summaries = []object{} // not null
	}
	metric := object{"name": "accuracy", "value": 0.0}
	if l.scored > 0 {
		low, high := stats.Wilson(l.successes, l.scored)
		metric["value"] = float64(l.successes) / float64(l.scored)
		metric["metadata"] = object{"low": low, "high": high, "interval": "Wilson, 95 %"}
	}
	l.put("summaries.json", l.summaries)
	l.put("header.json", object{
		"version": inspectVersion, "status": status, "eval": l.eval(), "plan": object{},
		"results": object{
			"total_samples": len(l.ids), "completed_samples": l.scored,
			"scores": []object{{
				"name": inspectScorer, "scorer": inspectScorer, "scored_samples": l.scored,
				"unscored_samples": len(l.ids) - l.scored, "metrics": object{"accuracy": metric},
			}},
		},
		"stats": object{
			"started_at": l.at, "completed_at": l.at, "model_usage": object{l.Model: inspectUsage(l.usage)},
		},
	})
	if l.err != nil {
		return l.err
	}

	return l.zip.Close()
}

// sample writes a sample and keeps its summary. why is the reason for its failure; a failed sample has no score.
func (l *InspectLog) sample(id int, s object, o domain.Outcome, usage domain.Usage, why string) {
	s["id"], s["epoch"], s["target"], s["uuid"] = id, 1, "", runs.Digest([]any{l.Task, l.Model, id})[:22]
	s["model_usage"] = object{l.Model: inspectUsage(usage)}
	summary := object{"completed": true, "message_count": len(s["messages"].([]object))}
	if why != "" {
		s["error"] = object{"message": why, "traceback": "", "traceback_ansi": ""}
		summary["error"] = why
	} else {
		value := 0.0
		if o.Success {
			value = 1
			l.successes++
		}
		l.scored++
		s["scores"] = object{inspectScorer: object{"value": value, "explanation": ending(o), "metadata": object{
			"steps": o.Steps, "invalid_steps": o.Invalid, "truncated": o.Truncated, "metrics": o.Metrics,
		}}}
	}
	for _, key := range []string{"id", "epoch", "input", "target", "uuid", "metadata", "scores", "model_usage"} {
		if v, ok := s[key]; ok {
			summary[key] = v
		}
	}
	l.put(fmt.Sprintf("samples/%d_epoch_1.json", id), s)
	l.summaries = append(l.summaries, summary)
	l.ids = append(l.ids, id)
	l.usage = l.usage.Plus(usage)
}

// Rollout adds the episode of a slot, or a slot that failed.
func (l *InspectLog) Rollout(episode Episode) {
	s := object{"input": episode.Record.Goal, "metadata": episode.task(), "messages": episode.inspectMessages()}
	t := transcript{log: l, uuid: fmt.Sprintf("slot-%d", episode.Record.Slot.Number), events: []object{}}
	for i := range episode.Steps {
		t.step(episode, i)
	}
	s["events"] = t.events
	if n := len(episode.Steps); n > 0 {
		last := episode.Steps[n-1]
		s["output"] = inspectOutput(l.Model, verdict(last), "stop", episode.usage())
	}
	var retries []object
	for _, why := range episode.Void {
		retries = append(retries, object{"message": why, "traceback": "", "traceback_ansi": ""})
	}
	if retries != nil {
		s["error_retries"] = retries
	}
	l.sample(episode.Record.Slot.Number, s, episode.Record.Outcome, episode.usage(), episode.Record.Failed)
}

// inspectMessages returns the episode as a conversation between the screens and the agents as a group.
func (e Episode) inspectMessages() []object {
	out := []object{}
	for i, step := range e.Steps {
		if i == 0 {
			out = append(out, object{
				"role": "user", "source": "input", "content": e.Record.Goal + "\n\n" + screen(step.Observation),
			})
		}
		message := object{"role": "assistant", "source": "generate", "content": verdict(step)}
		after := e.after(i)
		if vote(step).Canonical == "" {
			out = append(out, message, object{"role": "user", "content": after})
			continue
		}
		id := fmt.Sprintf("step-%d", step.Number)
		message["tool_calls"] = []object{inspectCall(id, step.Decision.Executed)}
		out = append(out, message, object{
			"role": "tool", "tool_call_id": id, "function": step.Decision.Executed.Type, "content": after,
		})
	}

	return out
}

// transcript collects the events of a sample.
type transcript struct {
	log    *InspectLog
	uuid   string
	events []object
	spans  []string // open spans, the innermost last
}

// add adds an event to the innermost span.
func (t *transcript) add(kind string, fields object) {
	fields["event"], fields["timestamp"], fields["working_start"] = kind, t.log.at, 0
	fields["uuid"] = fmt.Sprintf("%s/%d", t.uuid, len(t.events))
	if n := len(t.spans); n > 0 {
		fields["span_id"] = t.spans[n-1]
	}
	t.events = append(t.events, fields)
}

// begin opens a span.
func (t *transcript) begin(kind, name string) {
	id := t.uuid + "/" + name
	fields := object{"name": name, "type": kind}
	if n := len(t.spans); n > 0 {
		id = t.spans[n-1] + "/" + name
		fields["parent_id"] = t.spans[n-1]
	}
	fields["id"] = id
	t.spans = append(t.spans, id)
	t.add("span_begin", fields)
}

// end closes the innermost span.
func (t *transcript) end() {
	t.add("span_end", object{"id": t.spans[len(t.spans)-1]})
	t.spans = t.spans[:len(t.spans)-1]
}

// step adds a decision: the answers of each agent, the vote, and the executed action.
func (t *transcript) step(episode Episode, i int) {
	s := episode.Steps[i]
	t.begin("step", fmt.Sprintf("step-%d", s.Number))
	t.add("info", object{"source": "screen", "data": screen(s.Observation)})
	for agent := range episode.Topology.Agents {
		t.begin("agent", fmt.Sprintf("agent-%d", agent))
		for cell, c := range s.Decision.Cells {
			if c.Agent == agent && c.Prompt != "" {
				t.answer(c, episode.policy(agent), episode.Message, episode.facts(i, cell))
			}
		}
		t.end()
	}
	t.add("info", object{"source": "vote", "data": object{
		"chosen": verdict(s), "all_rounds": s.Decision.AllRound, "last_round": s.Decision.LastOnly,
	}})
	if vote(s).Canonical != "" {
		call := inspectCall(fmt.Sprintf("step-%d", s.Number), s.Decision.Executed)
		call["result"] = episode.after(i)
		t.add("tool", call)
	}
	t.end()
}

// answer adds the call of a model that made a cell. It has no messages if the prompts were not recorded.
func (t *transcript) answer(cell domain.Cell, model, system string, facts object) {
	input := []object{}
	if system != "" && cell.Prompt != "" {
		input = append(input, object{"role": "system", "content": system})
	}
	if cell.Prompt != "" {
		input = append(input, object{"role": "user", "content": cell.Prompt})
	}
	stop := "stop"
	if cell.Refused != "" {
		stop = "content_filter"
	}
	output := inspectOutput(model, cell.Text, stop, cell.Usage)
	if cell.Refused != "" {
		output["error"] = cell.Refused
	}
	message := output["choices"].([]object)[0]["message"].(object)
	if cell.Thought != "" {
		message["content"] = []object{
			{"type": "reasoning", "reasoning": cell.Thought}, {"type": "text", "text": cell.Text},
		}
	}
	if cell.Action != nil {
		id := fmt.Sprintf("agent-%d/round-%d", cell.Agent, cell.Round)
		message["tool_calls"] = []object{inspectCall(id, *cell.Action)}
	}
	t.add("model", object{
		"model": model, "role": fmt.Sprintf("agent-%d", cell.Agent), "input": input, "tools": []object{},
		"tool_choice": "auto", "config": object{}, "output": output, "metadata": facts,
	})
}

func inspectOutput(model, text, stop string, usage domain.Usage) object {
	return object{"model": model, "usage": inspectUsage(usage), "completion": text, "choices": []object{{
		"stop_reason": stop,
		"message":     object{"role": "assistant", "source": "generate", "model": model, "content": text},
	}}}
}

func inspectCall(id string, action domain.Action) object {
	return object{"id": id, "function": action.Type, "arguments": action, "type": "function"}
}

func inspectUsage(u domain.Usage) object {
	out := object{
		"input_tokens": u.Prompt - u.Cached, "output_tokens": u.Answer, "total_tokens": u.Prompt + u.Answer,
		"input_tokens_cache_read": u.Cached,
	}
	if u.Thought > 0 {
		out["reasoning_tokens"] = u.Thought
	}

	return out
}
