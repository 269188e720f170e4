package llm

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// refusal is the error of a request that a server refuses or fails to answer.
type refusal struct {
	status  int           // the HTTP status or, if that is a success, the status that the body means, or 0
	words   string        // the server's message, short and without keys
	members []string      // the members of the request that it refers to, apart from its message
	delay   time.Duration // the time to wait before a retry; 0 if the server names none

	page    bool // whether the body is a web page
	lasting bool // whether the page does not pass by itself
}

func (r *refusal) Error() string {
	words := r.words
	if words == "" {
		words = "no reason is given"
	}

	switch text := http.StatusText(r.status); {
	case r.status == 0:
		return words
	case text == "":
		return fmt.Sprintf("%d: %s", r.status, words)
	default:
		return fmt.Sprintf("%d %s: %s", r.status, text, words)
	}
}

// refusalOf parses a refusal. Its status is the HTTP status or, if that is a success, the status that the body means.
func (c *Client) refusalOf(status int, header http.Header, body []byte) *refusal {
	if len(body) > maxRefusal {
		body = body[:maxRefusal]
	}

	complaint := complaintOf(body)
	complaint.names = append(complaint.names, letters(header.Get("X-Amzn-Errortype")))
	out := &refusal{status: status, words: c.words(complaint.text(body)), members: complaint.members,
		page: isPage(body)}
	out.delay = delayOf(header, body, time.Now())
	if status < http.StatusMultipleChoices {
		out.status = complaint.meantStatus(out.delay)
	} else if named := complaint.namedStatus(); complaint.overrules(status, named) {
		out.status = named
	}

	return out
}

// complaint is the content of a server's error.
type complaint struct {
	code    int      // an HTTP status
	names   []string // codes and types, reduced to letters
	words   []string
	members []string // members of the request
	flagged bool     // whether a filter flagged the input
}

// complaintOf parses an error in any of its common forms: an object whose error is a text or an object, details, lists
// of them, and texts that contain JSON.
func complaintOf(body []byte) complaint {
	var out complaint
	for _, raw := range valuesOf(body).all {
		var value any
		if json.Unmarshal(raw, &value) == nil {
			out.add(value, 0)
		}
	}

	return out
}

// Bounds on what is read of a complaint: the nesting, and the number of texts and names.
const (
	maxComplaintDepth = 8
	maxTexts          = 16
)

// Members of complaints, in the order in which they are read. Other members are ignored.
var (
	nestedMembers = []string{
		"error", "errors", "fault", "detail", "details", "innererror", "metadata", "choices",
		"base_resp",
	}
	messageMembers = []string{
		"message", "msg", "error_message", "errormessage", "error_description", "faultstring", "description", "title",
		"raw", "error_msg", "status_msg", "errmsg",
	}
	codeMembers = []string{"code", "status_code", "statuscode", "http_code", "http_status", "status"}
	typeMembers = []string{"code", "type", "status", "reason", "error_type", "error_code", "errorcode", "__type"}
)

// add adds a value of a complaint.
func (x *complaint) add(value any, depth int) {
	if depth > maxComplaintDepth {
		return
	}

	switch v := value.(type) {
	case []any:
		for _, one := range v {
			x.add(one, depth+1)
		}
	case string:
		x.addText(v, depth)
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, member := range v {
			members[strings.ToLower(name)] = member
		}

		x.addObject(members, depth)
	}
}

// addObject adds an object whose members have names in lower case.
func (x *complaint) addObject(members map[string]any, depth int) {
	for _, name := range nestedMembers {
		x.add(members[name], depth+1)
	}
	for _, name := range codeMembers {
		if code := statusIn(members[name]); x.code == 0 {
			x.code = code
		}
	}
	for _, name := range typeMembers {
		if text, ok := members[name].(string); ok && len(x.names) < maxTexts {
			x.names = append(x.names, letters(text))
		}
	}

	if _, flagged := members["flagged_input"]; flagged {
		x.flagged = true
	}
	place := placeOf(members["loc"])
	for _, about := range []any{members["param"], members["loc"]} {
		x.members = append(x.members, textsIn(about)...)
	}
	for _, name := range messageMembers {
		if text, ok := members[name].(string); ok {
			x.addText(text+place, depth)
		} else {
			x.add(members[name], depth+1)
		}
	}
}

// addText adds a text. The text may be JSON, because gateways quote the servers behind them.
func (x *complaint) addText(text string, depth int) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		var value any
		if before := len(x.words); json.Unmarshal([]byte(text), &value) == nil {
			if x.add(value, depth+1); len(x.words) > before {
				return
			}
		}
	}

	for _, known := range x.words {
		if strings.Contains(known, text) {
			return
		}
	}
	if len(x.words) < maxTexts {
		x.words = append(x.words, text)
	}
}

// textsIn returns the text, or the texts of a list.
func textsIn(value any) []string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}

	var out []string
	for _, one := range list[:min(len(list), maxTexts)] {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}

	return out
}

// placeOf returns the place of the request's member that a complaint refers to.
func placeOf(loc any) string {
	list, _ := loc.([]any)
	if len(list) == 0 {
		return ""
	}

	place := make([]string, len(list))
	for i, one := range list {
		place[i] = fmt.Sprint(one)
	}

	return " (" + strings.Join(place, ".") + ")"
}

// text returns the message of a complaint, the text of a page, or else the whole body.
func (x *complaint) text(body []byte) string {
	words := strings.Join(x.words, "; ")
	switch all := strings.TrimSpace(string(body)); {
	case words != "":
		return words
	case strings.HasPrefix(all, "<"):
		return html.UnescapeString(markup.ReplaceAllString(all, " "))
	default:
		return all
	}
}

// markup matches what a browser does not show as text.
var markup = regexp.MustCompile(`(?is)<script.*?</script>|<style.*?</style>|<!--.*?-->|<[^>]*>?`)

// statusIn returns the HTTP status of a failure that a number or a text holds, and 0 for any other value.
func statusIn(value any) int {
	code := 0
	switch v := value.(type) {
	case float64:
		code = int(min(max(v, 0), 1000))
	case string:
		if len(v) == len("404") {
			_, _ = fmt.Sscanf(v, "%3d", &code)
		}
	}
	if code < http.StatusBadRequest || code > 599 {
		return 0
	}

	return code
}
