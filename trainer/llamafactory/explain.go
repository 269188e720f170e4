package llamafactory

import (
	"errors"
	"os/exec"
	"regexp"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer/external"
)

// Explain returns an error for an end without results: what happened, what helps, and the program's last lines.
func (t *Tool) Explain(tail string, exit error) error {
	if external.NoMemory(tail) {
		return fault.New(fault.Invalid, "%w: lower trainer.options.cutoff, raise devices, "+
			"or let the server on the same GPU sleep (worker --shares) (%v)\n%s", external.ErrMemory, exit,
			external.Tail(tail))
	}
	if x, ok := find(certain, tail); ok {
		return fault.New(x.kind, "%s (%v)\n%s", x.meaning, exit, external.Tail(tail))
	}

	var ended *exec.ExitError
	switch {
	case exit == nil:
		return fault.New(fault.Transient, "llamafactory-cli ended without its results\n%s", external.Tail(tail))
	case errors.As(exit, &ended) && !ended.Exited(), killed.MatchString(tail):
		return fault.New(fault.Transient, "llamafactory-cli was killed (%v) by a person, or by the system because "+
			"memory ran out; it resumes from its newest checkpoint\n%s", exit, external.Tail(tail))
	}

	if x, ok := find(uncertain, tail); ok {
		return fault.New(x.kind, "%s (%v)\n%s", x.meaning, exit, external.Tail(tail))
	}

	return fault.New(fault.Invalid, "llamafactory-cli failed (%v)\n%s", exit, external.Tail(tail))
}

// killed matches how torchrun reports a process that a signal ended. torchrun itself then fails.
var killed = regexp.MustCompile(`Signal \d+ \(SIG(KILL|TERM|BUS|HUP)\)|exitcode\s*:\s*-\d+`)

// explanation is what a sign in the last lines means.
type explanation struct {
	sign    *regexp.Regexp
	kind    fault.Kind
	meaning string
}

// find returns the first explanation whose sign is in the last lines.
func find(all []explanation, tail string) (explanation, bool) {
	for _, x := range all {
		if x.sign.MatchString(tail) {
			return x, true
		}
	}

	return explanation{}, false
}

// certain explanations hold however the program ended.
var certain = []explanation{
	{
		sign:    regexp.MustCompile(`(?i)No space left on device|Disk quota exceeded|ENOSPC`),
		kind:    fault.Transient,
		meaning: "the disk is full: free some space, the job resumes from its newest checkpoint",
	},
	{
		sign:    external.BadDevice,
		kind:    fault.Transient,
		meaning: "a GPU of this host is at fault or taken: another worker may train; take this one away if it recurs",
	},
	{
		sign: regexp.MustCompile(`(?i)Failed to load tokenizer|Error no file named|` +
			`does not appear to have a file named|safetensors_rust\.SafetensorError|Incorrect path_or_model_id|` +
			`Unable to load weights|is not a local folder and is not a valid model`),
		kind:    fault.Invalid,
		meaning: "weights are missing or not whole: copy trainer.options.model to this host again",
	},
	{
		sign: regexp.MustCompile(`(?i)Some keys are not used by the HfArgumentParser|` +
			`Some specified arguments are not used`),
		kind: fault.Invalid,
		meaning: "this version of LLaMA-Factory does not know a key of the configuration: " +
			"see trainer.options.extra",
	},
	{
		sign:    regexp.MustCompile(`(?i)Output directory already exists`),
		kind:    fault.Invalid,
		meaning: "the job's folder holds final weights but no checkpoint: delete it on this host",
	},
}

// uncertain explanations hold unless the program was killed: their signs may be in warnings.
var uncertain = []explanation{
	{
		sign: regexp.MustCompile(`(?i)ModuleNotFoundError|ImportError|version check|` +
			`is required for a normal functioning`),
		kind:    fault.Invalid,
		meaning: "LLaMA-Factory is not installed completely on this worker",
	},
	{
		sign: regexp.MustCompile(`NCCL error|ncclSystemError|ncclRemoteError|Watchdog caught collective|` +
			`Address already in use|RendezvousConnectionError|ConnectionResetError`),
		kind:    fault.Transient,
		meaning: "the processes of the job lost their connection; it resumes from its newest checkpoint",
	},
}
