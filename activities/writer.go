package activities

import (
	"slices"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
)

// Writer distinguishes records of a run from records of another run that has, or had, its name. An activity gets it at
// its beginning, because it may continue after its run was deleted.
type Writer struct {
	runs.By
	copied []string // the tags of records that a fork has copied
}

// Check returns the error of having recorded, or read, an object. Otherwise it returns a corrupt fault if another
// run of the name has written the object.
func (w Writer) Check(key string, by runs.By, err error) error {
	if err != nil || by == w.By || slices.Contains(w.copied, by.Tag) {
		return err
	}

	return fault.New(fault.Corrupt, "%s was written by another run of this name, which was deleted while one of its "+
		"activities continued: delete this object, then resume the run, which makes it again", key)
}
