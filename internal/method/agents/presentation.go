package agents

import "strings"

// Presentation specifies in which form agents see a screen.
type Presentation struct {
	Kind PresentationKind `json:"kind"`
	// Marks draws a box with its name around every element of the picture.
	Marks bool `json:"marks"`
	// Pixels is the maximum number of pixels of a picture. Pictures are scaled to it before anything reads them, so
	// prompts, length checks, training and servers count the same pixels.
	Pixels int `json:"pixels"`
}

// PresentationKind specifies whether agents see a screen as text, as a picture, or as both.
type PresentationKind string

// Kinds of presentations.
const (
	AsText  PresentationKind = "text"  // the list of elements
	AsImage PresentationKind = "image" // the picture alone
	AsBoth  PresentationKind = "both"
)

// Pictured reports whether agents see pictures.
func (p Presentation) Pictured() bool { return p.Kind == AsImage || p.Kind == AsBoth }

// Patch is the side of the squares, in pixels, that are a token of a vision model of the Qwen family.
const Patch = 28

// frameTokens is the maximum number of tokens that a chat template puts around a picture.
const frameTokens = 8

// Tokens returns the maximum number of tokens of a picture in a prompt, or 0 if agents see none.
func (p Presentation) Tokens() int {
	if !p.Pictured() {
		return 0
	}

	return p.Pixels/(Patch*Patch) + frameTokens
}

// Listed reports whether prompts list the elements.
func (p Presentation) Listed() bool { return p.Kind != AsImage }

// showsScreen describes the picture that goes with a prompt.
const showsScreen = "The picture shows the screen"

// WithPicture returns the user's message of a role that sees the picture with the given digest of the whole screen. An
// empty digest leaves the message as it is.
func WithPicture(user, digest string) string {
	if digest == "" {
		return user
	}

	return user + "\n" + showsScreen + "; if it has marks, each is the name of the element that it is on"
}

// pictureLine is the line of an agent's prompt that describes its picture. It returns "" if the agent sees none.
func (v View) pictureLine(shown Presentation) string {
	switch {
	case v.Picture.Digest == "":
		return ""
	case shown.Marks:
		return showsScreen + "; a mark is the name of the element that it is on"
	}

	return showsScreen
}

// lines joins the lines that are not empty.
func lines(all ...string) string {
	var out []string
	for _, line := range all {
		if line != "" {
			out = append(out, line)
		}
	}

	return strings.Join(out, "\n")
}
