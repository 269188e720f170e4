package app

import (
	"strconv"
	"strings"

	"github.com/collabui/collabui/fault"
)

// ParsePlace reads EPOCH/NUMBER from a flag; numbers begin with first.
func ParsePlace(flag, text string, first int) (epoch, number int, err error) {
	e, name, _ := strings.Cut(text, "/")
	epoch, bad := strconv.Atoi(e)
	number, worse := strconv.Atoi(name)
	if bad != nil || worse != nil || epoch < 1 || number < first {
		return 0, 0, fault.New(fault.Invalid, "%s %s: expected EPOCH/NUMBER, such as 1/4", flag, text)
	}

	return epoch, number, nil
}
