package health

import (
	"fmt"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/internal/local/disk"
)

// MinFree is the disk space that a quickstart needs, in bytes, with a margin.
const MinFree = 1 << 30

// DiskSpace checks the free space for the data folder.
func DiskSpace(a *app.App) []Finding {
	left, err := disk.Free(a.Data)
	if err != nil {
		return nil
	}
	finding := Finding{
		What: "disk", OK: left >= MinFree, Detail: fmt.Sprintf("%.1f GB free for %s", float64(left)/1e9, a.Data),
	}
	if !finding.OK {
		finding.Fix = "free at least 1 GB, or choose another folder with --data"
	}

	return []Finding{finding}
}
