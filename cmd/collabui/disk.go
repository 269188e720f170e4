package main

import (
	"fmt"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/internal/process/disk"
)

// minFree is the disk space that a quickstart needs, in bytes, with a margin.
const minFree = 1 << 30

// diskSpace checks the free space for the data folder.
func diskSpace(a *app.App) []finding {
	left, err := disk.Free(a.Data)
	if err != nil {
		return nil
	}
	f := finding{
		What: "disk", OK: left >= minFree, Detail: fmt.Sprintf("%.1f GB free for %s", float64(left)/1e9, a.Data),
	}
	if !f.OK {
		f.Fix = "free at least 1 GB, or choose another folder with --data"
	}

	return []finding{f}
}
