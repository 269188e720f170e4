// Package layout lists the kinds of objects that a store has, and what each role may do with them. The policies in
// deploy/policies are derived from it. Only tests import it.
package layout

import (
	"encoding/json"
	"slices"
	"strings"
)

// Roles with a policy of their own. People type commands, and use the pages of the viewer within its permissions.
const (
	Control = "control"
	Rollout = "rollout"
	Model   = "model"
	GPU     = "gpu"
	Serve   = "serve"
	View    = "view"
	People  = "people"
)

// Roles are all roles.
var Roles = []string{Control, Rollout, Model, GPU, Serve, View, People}

// Kind is a kind of objects.
type Kind struct {
	Pattern string   // of their keys, as in policies: * is any text, with slashes, and ? is any character
	Keys    []string // examples
	Writes  []string // the roles that may write them, besides People, who may do everything
	Reads   []string // the same for reading
	Named   string   // FOLDER.FUNCTION of the functions that name or write them, separated by spaces
}

// May reports whether a role may write objects of this kind, or read them.
func (k Kind) May(role string, write bool) bool {
	all := k.Reads
	if write {
		all = k.Writes
	}

	return role == People || slices.Contains(all, role)
}

// Of returns the kinds that have a key: exactly one, unless someone has written an object that the layout lacks.
func Of(key string) (all []Kind) {
	for _, kind := range Kinds {
		if Matches(kind.Pattern, key) {
			all = append(all, kind)
		}
	}

	return all
}

// Matches reports whether a pattern of a policy matches a text, by the rules of S3.
func Matches(pattern, text string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !matchesPlain(before, text[:min(len(before), len(text))]) {
		return false
	}
	text = text[len(before):]
	if !star {
		return text == ""
	}
	for i := range len(text) + 1 {
		if Matches(after, text[i:]) {
			return true
		}
	}

	return false
}

// matchesPlain reports whether a text matches a pattern in which ? is any character.
func matchesPlain(pattern, text string) bool {
	if len(pattern) != len(text) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] != '?' && pattern[i] != text[i] {
			return false
		}
	}

	return true
}

// statement is a part of a policy.
type statement struct {
	Sid      string
	Effect   string
	Action   []string
	Resource []string
}

// policy is the content of a file in deploy/policies.
type policy struct {
	Version   string
	Statement []statement
}

// bucket stands for the bucket in a policy. Users of the policy replace it.
const bucket = "arn:aws:s3:::BUCKET"

// Policy returns the policy of a role, in the form of AWS and MinIO.
func Policy(role string) []byte {
	p := policy{Version: "2012-10-17"}
	allow := func(sid string, resource []string, action ...string) {
		if len(resource) > 0 {
			p.Statement = append(p.Statement, statement{sid, "Allow", action, resource})
		}
	}
	if role == People {
		allow("All", []string{bucket, bucket + "/*"}, "s3:*")
	} else {
		allow("List", []string{bucket}, "s3:ListBucket", "s3:GetBucketLocation")
		allow("Read", patterns(role, false), "s3:GetObject")
		allow("Write", patterns(role, true), "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
	}
	raw, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err) // it consists of texts only
	}

	return append(raw, '\n')
}

// patterns returns the resources that a role may write, or read: a whole folder if it may do so with all kinds in it.
func patterns(role string, write bool) (out []string) {
	for _, kind := range Kinds {
		if !kind.May(role, write) {
			continue
		}
		pattern := kind.Pattern
		if folder, _, below := strings.Cut(pattern, "/"); below && mayAll(folder+"/", role, write) {
			pattern = folder + "/*"
		}
		pattern = bucket + "/" + pattern
		if !slices.Contains(out, pattern) {
			out = append(out, pattern)
		}
	}

	return out
}

// mayAll reports whether a role may write, or read, all kinds in a folder.
func mayAll(folder, role string, write bool) bool {
	return !slices.ContainsFunc(Kinds, func(kind Kind) bool {
		return strings.HasPrefix(kind.Pattern, folder) && !kind.May(role, write)
	})
}

// Rules are the permissions of a policy.
type Rules struct{ statements []statement }

// Parse reads a policy.
func Parse(raw []byte) (Rules, error) {
	var p policy
	err := json.Unmarshal(raw, &p)

	return Rules{p.Statement}, err
}

// Allow reports whether an action on a key is allowed.
func (r Rules) Allow(action, key string) bool {
	allowed := false
	for _, s := range r.statements {
		does := slices.ContainsFunc(s.Action, func(a string) bool { return Matches(a, action) })
		if does && slices.ContainsFunc(s.Resource, func(r string) bool { return Matches(r, bucket+"/"+key) }) {
			if s.Effect != "Allow" {
				return false
			}
			allowed = true
		}
	}

	return allowed
}
