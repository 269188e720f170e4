package scripted

import (
	"testing"

	"github.com/collabui/collabui/envadapters/acceptance"
)

func TestAcceptance(t *testing.T) { acceptance.Test(t, &Suite{}, 2) }
