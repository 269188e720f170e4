package external

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Environ returns this process's environment without secrets, for helpers of a Tool.
func Environ() []string { return environ("") }

// environ returns this process's environment without what a program must not see: our own variables, secrets, which
// are recognised by the usual words in their names, those that models of specifications may name, and variables that
// would change what the program does. drop is that of Command.
func environ(drop string) []string {
	hidden := regexp.MustCompile(`^(COLLABUI_|CUDA_VISIBLE_DEVICES=` + drop + `)`)
	secret := regexp.MustCompile(`(?i)((^|_)(KEYS?|TOKENS?|URL|URI|DSN|PWD|PASS|AUTH|COOKIES?|WEBHOOK)(_FILE)?=|` +
		`SECRET|PASSW|PASSPHRASE|CREDENTIAL|APIKEY)`)
	named := strings.Split(os.Getenv("COLLABUI_MODEL_KEYS"), ",")

	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		for _, entry := range named {
			pattern, _, _ := strings.Cut(strings.TrimSpace(entry), "=")
			if is, err := path.Match(pattern, strings.TrimSuffix(name, "_FILE")); err == nil && is {
				return true
			}
		}

		return name != "PWD" && (hidden.MatchString(variable) || secret.MatchString(name+"="))
	})
}
