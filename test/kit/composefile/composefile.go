// Package composefile reads deploy/compose for tests.
package composefile

import "regexp"

var (
	setting = regexp.MustCompile(`(?m)^([A-Z][A-Z0-9_]*)=(.*)$`)

	// Variable matches a variable in compose.yaml: its name and, after ":", - or ? with a text.
	Variable = regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)(?::([-?])([^}]*))?\}`)
)

// Variables returns the variables of an environment file, such as .env.example.
func Variables(env string) map[string]string {
	all := map[string]string{}
	for _, parts := range setting.FindAllStringSubmatch(env, -1) {
		all[parts[1]] = parts[2]
	}

	return all
}

// Filled returns the text of compose.yaml with the values of variables.
func Filled(compose string, vars map[string]string) string {
	return Variable.ReplaceAllStringFunc(compose, func(text string) string {
		return vars[Variable.FindStringSubmatch(text)[1]]
	})
}
