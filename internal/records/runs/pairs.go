package runs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// PairsOf returns the pairs of a slot that has ended. A failed slot has no pairs.
func (r Run) PairsOf(ctx context.Context, bucket store.Bucket, epoch, slot int) ([]domain.Example, error) {
	pairs, _, err := r.PairsIfAny(ctx, bucket, epoch, slot)
	var same texts
	for i := range pairs.Pairs {
		same.share(&pairs.Pairs[i])
	}

	return pairs.Pairs, err
}

// PairsIfAny returns the record of the pairs of a slot that has ended, unless the slot failed.
func (r Run) PairsIfAny(ctx context.Context, bucket store.Bucket, epoch, slot int) (Pairs, bool, error) {
	pairs, exists, err := r.Pairs(epoch, slot).May(ctx, bucket)
	if err != nil || exists {
		return pairs, exists, err
	}
	episode, _, err := r.Episode(ctx, bucket, epoch, slot)
	if err != nil || episode.Failed != "" {
		return pairs, false, err
	}
	pairs, _, err = r.Pairs(epoch, slot).Must(ctx, bucket)

	return pairs, err == nil, err
}

// texts keeps each of the newest prompts only once: pairs of one cell share the same prompt of several kilobytes.
type texts [16]string

func (t *texts) share(pair *domain.Example) {
	for _, known := range t {
		if known == pair.Prompt {
			pair.Prompt = known

			return
		}
	}
	copy(t[1:], t[:len(t)-1])
	t[0] = pair.Prompt
}

// ReadPairs returns the rows of a data set from its body.
func ReadPairs(ctx context.Context, bucket store.Bucket, body store.Ref) ([]domain.Example, error) {
	var rows []domain.Example
	err := EachPair(ctx, bucket, body, func(pair domain.Example) error {
		rows = append(rows, pair)

		return nil
	})

	return rows, err
}

// EachPair calls use with every row of a data set, in order, and holds only a few in memory. The rows count only if
// EachPair returns no error. A body that is not a list of pairs is a corrupt fault.
func EachPair(ctx context.Context, bucket store.Bucket, body store.Ref, use func(domain.Example) error) error {
	return store.StreamBlob(ctx, bucket, body.SHA256, func(reader io.Reader) error {
		decoder := json.NewDecoder(bufio.NewReaderSize(reader, 1<<16))
		first, err := decoder.Token()
		if err != nil || first == nil { // null: no rows
			return fault.As(fault.Corrupt, err)
		}
		if first != json.Delim('[') {
			return fault.New(fault.Corrupt, "%s is not a list of pairs", body.Key)
		}

		var same texts
		for decoder.More() {
			var pair domain.Example
			if err := decoder.Decode(&pair); err != nil {
				return fault.As(fault.Corrupt, err)
			}
			same.share(&pair)
			if err := use(pair); err != nil {
				return err
			}
		}
		_, err = decoder.Token()

		return fault.As(fault.Corrupt, err)
	})
}

// PutPairs writes the rows of a data set as a blob.
func PutPairs(ctx context.Context, bucket store.Bucket, rows []domain.Example) (store.Ref, error) {
	file, err := os.CreateTemp("", "pairs-*")
	if err != nil {
		return store.Ref{}, fault.As(fault.Transient, err)
	}
	defer func() { _ = os.Remove(file.Name()) }()

	err = writePairs(file, rows)
	err = errors.Join(err, file.Close())
	if err != nil {
		return store.Ref{}, fault.As(fault.Transient, err)
	}

	return store.PutBlobFile(ctx, bucket, file.Name())
}

// writePairs writes the JSON of rows one by one, because an epoch may have hundreds of megabytes.
func writePairs(to io.Writer, rows []domain.Example) error {
	writer := bufio.NewWriterSize(to, 1<<16)
	l := list{w: writer}
	for i := range rows {
		l.add(rows[i])
	}
	l.end(rows == nil)

	return errors.Join(l.err, writer.Flush())
}

// list writes a JSON list value by value, with the bytes that json.Marshal would write for the whole.
type list struct {
	w   *bufio.Writer
	n   int
	err error // the first error
}

func (l *list) add(value any) {
	raw, err := json.Marshal(value)
	separator := byte(',')
	if l.n == 0 {
		separator = '['
	}
	l.n++
	l.err = errors.Join(l.err, err, l.w.WriteByte(separator))
	if l.err == nil {
		_, l.err = l.w.Write(raw)
	}
}

// end ends the list. A nil list, unlike an empty one, is written as null.
func (l *list) end(isNil bool) {
	end := "]"
	switch {
	case l.n == 0 && isNil:
		end = "null"
	case l.n == 0:
		end = "[]"
	}
	_, err := l.w.WriteString(end)
	l.err = errors.Join(l.err, err)
}
