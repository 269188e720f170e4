package llm

import (
	"net/http"
	"regexp"
	"strings"
	"time"
)

// overloaded is the status with which servers refuse requests because of other load. Package http does not name it.
const overloaded = 529

// statuses maps parts of error names to the HTTP statuses that they mean, the most specific names first. Only letters
// are compared, in lower case.
var statuses = []struct {
	part   string
	status int
}{
	{"insufficientquota", 402}, {"exceededcurrentquota", 402}, {"billing", 402}, {"insufficientbalance", 402},
	{"insufficientcredit", 402}, {"arrearage", 402}, {"budgetexceeded", 402}, {"paymentrequired", 402},
	{"invalidapikey", 401}, {"apikeyinvalid", 401}, {"incorrectapikey", 401}, {"authentication", 401},
	{"unauthenticated", 401}, {"unauthorized", 401},
	{"contentfilter", 400}, {"contentpolicy", 400}, {"responsibleaipolicy", 400}, {"contextlength", 400},
	{"permission", 403}, {"forbidden", 403}, {"accessdenied", 403},
	{"ratelimit", 429}, {"toomanyrequests", 429}, {"throttl", 429}, {"resourceexhausted", 429},
	{"overloaded", overloaded}, {"capacityexceeded", overloaded},
	{modelMissing, 404}, {"notfound", 404},
	{"unavailable", 503}, {"timeout", 504}, {"deadlineexceeded", 504},
	{"internal", 500}, {"servererror", 500}, {"apierror", 500},
	{"invalidrequest", 400}, {"badrequest", 400}, {"invalidargument", 400}, {"validation", 400},
	{"unprocessable", 422},
}

// modelMissing occurs in the names of an error if the server lacks the model.
const modelMissing = "modelnotfound"

// phrases maps phrases of error messages to the HTTP statuses that they mean. They are used only if the status is a
// success and the error has neither a code nor a name. Errors with any other text are assumed to pass.
var phrases = []struct {
	words  *regexp.Regexp
	status int
}{
	{regexp.MustCompile(`(?i)\b(insufficient|not enough|no|out of) (account )?(balance|credits?|funds|quota)\b` +
		`|exceeded your current quota|balance is (too low|not enough|insufficient)|\bpayment required|\bin arrears\b` +
		`|\b(daily|monthly)\b.*\b(limit|quota)\b|\b(limit|quota)\b.*\b(per day|per month)\b`), 402},
	{regexp.MustCompile(`(?i)` +
		`\b(invalid|incorrect|wrong|unknown|missing|no|expired) (api|access|auth)[ _-]?(key|token)` +
		`|\b(api|access)[ _-]?(key|token) (is |was |has )?` +
		`(not |invalid|required|missing|expired|incorrect|wrong|disabled)` +
		`|\bnot (authenticated|authorized|logged in)\b|\bunauthori[sz]ed\b|\bunauthenticated\b` +
		`|\b(invalid|missing|no) (credentials|authentication|authorization)` +
		`|\bauthentication (failed|required|error)|\b(log|sign) ?in (failed|fail|required)|\bprovide an api key`), 401},
	{regexp.MustCompile(`(?i)\b(access|permission) denied\b|\bforbidden\b` +
		`|\b(do|does)( not|n't) have (access|permission)`), 403},
	{regexp.MustCompile(`(?i)\brate[ -]?limit|too many requests|\bthrottl|\bslow down\b|request limit`), 429},
	{regexp.MustCompile(`(?i)\b(model|deployment)\b.*\bnot (found|exist)\b|\b(unknown|no such) model\b`), 404},
	{regexp.MustCompile(`(?i)\b(context|prompt|input)\b.*\btoo long\b|maximum context length`), 400},
}

// namedStatus returns the HTTP status that the names of a complaint mean, or 0 if they mean none.
func (x *complaint) namedStatus() int {
	for _, known := range statuses {
		for _, name := range x.names {
			if strings.Contains(name, known.part) {
				return known.status
			}
		}
	}
	if x.flagged {
		return http.StatusBadRequest
	}

	return 0
}

// meantStatus returns the HTTP status that a complaint means if it came with a status of success, or 0 if it is assumed
// to pass. after is the time that the server wants a client to wait.
func (x *complaint) meantStatus(after time.Duration) int {
	status := x.namedStatus()
	switch {
	case x.code != 0:
		return x.code
	case status != 0:
		return status
	case after > 0 && len(x.words) > 0:
		return http.StatusTooManyRequests
	}

	if len(x.words) == 1 {
		for status := http.StatusBadRequest; status < 600; status++ {
			if text := http.StatusText(status); text != "" && letters(text) == letters(x.words[0]) {
				return status
			}
		}
	}
	for _, known := range phrases {
		for _, words := range x.words {
			if known.words.MatchString(words) {
				return known.status
			}
		}
	}

	return 0
}

// overrules reports whether the status that a complaint's names mean is more helpful than its actual status: without
// money or a key, neither waiting nor another request helps, but waiting helps if a server is overloaded. A request
// that is larger than a limit is always too large, so limits do not overrule a 413.
func (x *complaint) overrules(status, named int) bool {
	switch {
	case named == http.StatusPaymentRequired:
		return status < http.StatusInternalServerError
	case named == http.StatusTooManyRequests, named == overloaded:
		return status == http.StatusBadRequest || status == http.StatusForbidden || status == noCapacity
	case named == http.StatusUnauthorized:
		return status == http.StatusBadRequest || status == noCapacity
	case named == http.StatusNotFound:
		return status == http.StatusBadRequest && strings.Contains(strings.Join(x.names, " "), modelMissing)
	}

	return x.flagged && status == http.StatusForbidden
}

// letters returns the ASCII letters of a text in lower case.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}

		return -1
	}, strings.ToLower(text))
}
