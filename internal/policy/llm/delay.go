package llm

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxDelay bounds the delay that a server may request. No quota lasts longer than a day.
const maxDelay = 24 * time.Hour

// delayOf returns the time that a server wants a client to wait, from its headers or else from its body.
// It is 0 if the server names no time, and at most maxDelay.
func delayOf(header http.Header, body []byte, now time.Time) time.Duration {
	if duration := retryAfter(header, now); duration > 0 {
		return duration
	}

	for _, place := range delayName.FindAllIndex(body, -1) {
		unit := time.Second
		if strings.Contains(strings.ToLower(string(body[place[0]:place[1]])), "ms") {
			unit = time.Millisecond
		}
		if d := durationOf(string(body[place[1]:min(place[1]+64, len(body))]), unit); d > 0 {
			return d
		}
	}

	return 0
}

// delayName matches the name of a member, or the words, before a delay.
var delayName = regexp.MustCompile(`(?i)retry[-_]?(?:delay|after|in)[-_]?(?:ms|seconds|secs?|s)?\\*"\s*:\s*` +
	`(?:\{\s*\\*"seconds\\*"\s*:\s*)?\\*"?` +
	`|\b(?:again|retry|wait|retrying)(?:\s+again)?(?:\s+(?:in|after|for|at least|about|another))*\s*:?\s+`)

// retryAfter parses Retry-After in its forms, and the milliseconds that some servers send. It returns 0 without either.
// A date is compared with the answer's own date if it has one, because clocks differ.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if duration := durationOf(header.Get("Retry-After-Ms"), time.Millisecond); duration > 0 {
		return duration
	}

	value := strings.TrimSpace(header.Get("Retry-After"))
	at, err := http.ParseTime(value)
	if err != nil {
		at, err = time.Parse(time.RFC3339, value)
	}
	if err != nil {
		return durationOf(value, time.Second)
	}
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		now = sent
	}

	return min(max(at.Sub(now), 0), maxDelay)
}

// amount matches a number with its unit at the beginning of a text.
var amount = regexp.MustCompile(`^[\s,]*(?:and\s+)?(\d+(?:\.\d+)?)\s*([a-zA-Zµ]*)`)

// units maps common names of units of time to their durations.
var units = map[string]time.Duration{
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milli": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour,
}

// durationOf parses the duration at the beginning of a text: 34, 34s, 1.2 seconds, 6m0s, 1 hour and 2 minutes. A number
// without a unit is in units of without. It returns 0 if the text begins otherwise, and at most maxDelay.
func durationOf(text string, without time.Duration) time.Duration {
	sum := time.Duration(0)
	for {
		found := amount.FindStringSubmatch(text)
		if found == nil {
			return sum
		}

		count, err := strconv.ParseFloat(found[1], 64)
		name := strings.ToLower(found[2])
		unit, known := units[name]
		if !known {
			unit, known = units[strings.TrimSuffix(name, "s")]
		}
		if name == "" && sum == 0 {
			unit = without
			known = true
		}
		if !known || err != nil && count == 0 {
			return sum
		}

		sum = time.Duration(min(float64(sum)+count*float64(unit), float64(maxDelay)))
		text = text[len(found[0]):]
		if name == "" {
			return sum
		}
	}
}
