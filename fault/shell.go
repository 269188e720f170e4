package fault

import "strings"

// plain are the characters of a word that no shell changes.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"

// ShellQuote returns a word as it is typed in a shell, so that the commands of messages can be pasted:
//
//	fault.New(fault.Transient, "start it with `collabui up --data %s`", fault.ShellQuote(folder))
//
// A word that a shell would split or change is put into single quotes.
func ShellQuote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}

	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
