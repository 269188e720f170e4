package external

import (
	"os"
	"regexp"
	"slices"
)

// Environ returns this process's environment without secrets, for helpers of a Tool.
func Environ() []string { return environ("") }

// environ returns this process's environment without what a program must not see: our own variables, secrets, which
// are recognised by the usual ends of their names, and variables that would change what the program does. drop is that
// of Command.
func environ(drop string) []string {
	hidden := regexp.MustCompile(`^(COLLABUI_|[^=]*(_KEY|_TOKEN|_SECRET|_PASSWORD)(_FILE)?=|` +
		`CUDA_VISIBLE_DEVICES=` + drop + `)`)

	return slices.DeleteFunc(os.Environ(), hidden.MatchString)
}
