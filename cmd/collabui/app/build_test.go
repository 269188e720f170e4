package app

import "testing"

func TestOnlyAReleaseHasItsVersionAlone(t *testing.T) {
	const commit = "acb797343a1e5d0b4c55ee7a1a4a5a2f1f7a8b9c"

	for _, c := range []struct {
		name, released, module, commit, want string
	}{
		{"a release", "0.1.0", "v0.0.0-20261129235203-acb797343a1e", commit, "0.1.0"},
		{"a candidate", "0.2.0-rc.1", "(devel)", commit, "0.2.0-rc.1"},
		{"a tag, by go install", "", "v0.1.1", "", "0.1.1"},
		{"the tag of a candidate", "", "v0.2.0-rc.1", "", "0.2.0-rc.1"},
		{"a checkout without a tag", "", "v0.0.0-20261129235203-acb797343a1e", commit, "0.1.0-dev+acb797343a1e"},
		{"a checkout after a tag", "", "v0.1.1-0.20261129235203-acb797343a1e", commit, "0.1.0-dev+acb797343a1e"},
		{"a tag with changes", "", "v0.1.0+dirty", commit, "0.1.0-dev+acb797343a1e"},
		{"no version control", "", "(devel)", "", "0.1.0-dev"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := versionOf(c.released, c.module, c.commit); got != c.want {
				t.Errorf("the version is %q, want %q", got, c.want)
			}
		})
	}
}
