package results

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/fault"
)

// exportOptions are the flags of export.
type exportOptions struct {
	out    string
	epoch  string // a number, best or base
	policy string // digest
	line   string
	as     string    // a format of other tools
	build  app.Build // of the program that exports
}

func (o *exportOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.out, "out", "", "`FOLDER` to write into; it is created, and must be empty")
	flags.StringVar(&o.epoch, "epoch", "",
		"system and pairs of this `EPOCH`: a number or best; base: the base policy and the data of stage 1")
	flags.StringVar(&o.line, "line", "", "instead of a run: the system that this `LINE` accepts")
	flags.StringVar(&o.policy, "policy", "", "instead of a run: the files of the policy with this `DIGEST`")
	flags.StringVar(&o.as, "as", "", "instead of data sets: `FORMAT` of another tool, one of "+strings.Join(formats,
		", "))
}

func (o exportOptions) check(args []string) error {
	if o.out == "" {
		return fault.New(fault.Invalid, "--out is required: the folder to write to")
	}
	if old, err := os.ReadDir(o.out); err == nil && len(old) > 0 {
		return fault.New(fault.Invalid, "%s is not empty: choose another folder", o.out)
	} else if fileInfo, is := os.Stat(o.out); is == nil && !fileInfo.IsDir() {
		return fault.New(fault.Invalid, "--out %s: expected a folder to write to, and there is a file", o.out)
	}
	if o.as != "" {
		return o.checkAs(args)
	}
	given := len(args)
	for _, other := range []string{o.policy, o.line} {
		if other != "" {
			given++
		}
	}
	if given != 1 || o.line != "" && o.epoch != "" {
		return fault.New(fault.Invalid, "expected one of a run, with --epoch if you like, --line and --policy")
	}

	return nil
}

// checkAs checks the flags of an export for other tools.
func (o exportOptions) checkAs(args []string) error {
	switch {
	case !slices.Contains(formats, o.as):
		return fault.New(fault.Invalid, "--as must be one of %s, not %q", strings.Join(formats, ", "), o.as)
	case len(args) != 1 || o.line != "" || o.policy != "":
		return fault.New(fault.Invalid, "--as %s expects a run, and neither --line nor --policy", o.as)
	case o.epoch == "":
		return nil
	case o.as != asATIF && o.as != asInspect:
		return fault.New(fault.Invalid, "--epoch selects episodes, for --as %s and %s; --as %s has all epochs",
			asATIF, asInspect, o.as)
	}
	if n, err := strconv.Atoi(o.epoch); err != nil || n < 1 {
		return fault.New(fault.Invalid, "--epoch must be a number from 1 with --as %s, not %q", o.as, o.epoch)
	}

	return nil
}

// formats lists the values of --as.
var formats = []string{asATIF, asInspect, asCSV, asJSON}

// Formats of --as.
const (
	asATIF    = "atif"
	asInspect = "inspect"
	asCSV     = "csv"
	asJSON    = "json"
)
