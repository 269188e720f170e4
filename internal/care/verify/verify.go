// Package verify checks stored objects. It reads the store and nothing else: Fsck and FsckRun verify the bytes of
// objects and their references, and Run verifies the promises of a run.
package verify

import "fmt"

// Problem is one thing that is wrong, and the object that has it.
type Problem struct {
	Key    string `json:"key"`
	Detail string `json:"detail"`
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s", p.Key, p.Detail) }
