package domain

import "time"

// NoticeKind is what happened.
type NoticeKind string

// The kinds of notices.
const (
	NoticePromoted NoticeKind = "promoted"
	NoticeRejected NoticeKind = "rejected"
	NoticeApproval NoticeKind = "approval" // a re-trained system waits for a person
	NoticePaused   NoticeKind = "paused"   // a run waits, for a person or for infrastructure
	NoticeStopped  NoticeKind = "stopped"
	NoticeFailed   NoticeKind = "failed" // a firing ended for a reason that only a person can remove
	NoticeEnded    NoticeKind = "ended"
	NoticeBudget   NoticeKind = "budget" // a run has spent 80 % of a budget
	NoticeMissed   NoticeKind = "missed" // firings of a schedule were later than it allows
)

// Notice is something that people should know.
type Notice struct {
	ID   string     `json:"id"` // names what happened; a notice that is delivered twice has the same
	Kind NoticeKind `json:"kind"`
	At   time.Time  `json:"at"`

	Run      string `json:"run,omitempty"`
	Line     string `json:"line,omitempty"`
	Schedule string `json:"schedule,omitempty"`
	Text     string `json:"text"`
}
