package app

import (
	"strconv"
	"strings"

	"github.com/collabui/collabui/fault"
)

// ParsePlace reads EPOCH/NUMBER from a flag; numbers begin with first.
func ParsePlace(flag, s string, first int) (epoch, number int, err error) {
	e, n, _ := strings.Cut(s, "/")
	epoch, bad := strconv.Atoi(e)
	number, worse := strconv.Atoi(n)
	if bad != nil || worse != nil || epoch < 1 || number < first {
		return 0, 0, fault.New(fault.Invalid, "%s %s: expected EPOCH/NUMBER, such as 1/4", flag, s)
	}

	return epoch, number, nil
}
