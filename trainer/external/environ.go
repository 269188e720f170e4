package external

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/config"
)

// Environ returns this process's environment without secrets, for helpers of a Tool.
func Environ() []string { return environ("") }

// secretName matches the names of secrets, and an equals sign, by the usual words in them.
var secretName = regexp.MustCompile(`(?i)((^|_)(KEYS?|TOKENS?|URL|URI|DSN|PASS|AUTH|COOKIES?|WEBHOOK)(_FILE)?=|` +
	`_PWD(_FILE)?=|SECRET|PASSW|PASSPHRASE|CREDENTIAL|APIKEY)`)

// environ returns this process's environment without what a program must not see: our own variables, secrets, those
// that models of specifications may name, and variables that would change what the program does. drop is
// Command.Drop.
func environ(drop string) []string {
	hidden := regexp.MustCompile(`^(COLLABUI_|CUDA_VISIBLE_DEVICES=` + drop + `)`)
	keys, _ := config.ModelKeys()
	keys = slices.DeleteFunc(keys, func(k config.ModelKey) bool { return k.Names("PATH") }) // it means all variables

	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		named := func(modelKey config.ModelKey) bool { return modelKey.Names(strings.TrimSuffix(name, "_FILE")) }

		return hidden.MatchString(variable) || secretName.MatchString(name+"=") || slices.ContainsFunc(keys, named)
	})
}
