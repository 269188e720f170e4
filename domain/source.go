package domain

// Source states what kind of example an Example is, and where the rejected answer of a pair comes from. In an example
// of level 1 it is the kind of the question.
type Source string

// The sources of pairs.
const (
	SourceAdversary Source = "adversary"
	// SourceOwn is the agent's own cell of another round, labelled Negative.
	SourceOwn Source = "own"
	// SourcePeer is another agent's cell, labelled Negative.
	SourcePeer Source = "peer"
	// SourceCorrection is the agent's own cell, labelled Negative. The chosen answer is another agent's cell, labelled
	// Positive.
	SourceCorrection Source = "correction"
	// SourceResist is the agent's own cell, labelled Negative, on a prompt that misled it. The chosen answer is its own
	// action of the previous round or a peer's action in the prompt, labelled Positive.
	SourceResist Source = "resist"
	// SourceInstead is the agent's own pass, labelled Negative. The chosen answer is one that would have helped.
	SourceInstead Source = "instead"
	// SourceOther is the first candidate that parses and differs. Outcome credit uses it.
	SourceOther Source = "candidate"
	// SourceNone means that nothing is rejected.
	SourceNone Source = "none"
	// SourceGroup means a sample, which is compared with all answers of its step.
	SourceGroup Source = "group"
	// SourceImported means that the pair comes from a file.
	SourceImported Source = "imported"
	// SourceExpert means that the pair comes from a demonstration.
	SourceExpert Source = "expert"
)
