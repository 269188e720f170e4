package llm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

func TestPicturesOfRequestsAreReadFromTheStore(t *testing.T) {
	file := []byte("a file")
	picture := chat.NewImage(file)
	stored := func(_ context.Context, digest string) ([]byte, error) {
		if digest != picture.Digest {
			return nil, errors.New("another digest")
		}

		return file, nil
	}
	base, _, sent := server(t, 200, nil, answer)
	c := must(t, Config{BaseURL: base, Images: true, Picture: stored})
	if _, err := c.Complete(t.Context(), chat.Request{User: "u", Images: chat.Stored(picture.Digest)}); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(sent["messages"])
	if want := base64.StdEncoding.EncodeToString(file); err != nil || !strings.Contains(string(raw), want) {
		t.Errorf("the messages are %s, %v; want the file of the picture", raw, err)
	}
}

func TestAPictureIsNeverLeftOut(t *testing.T) {
	base, _, _ := server(t, 200, nil, answer)
	pictures := chat.Stored(chat.NewImage([]byte("a file")).Digest)
	for name, conf := range map[string]Config{
		"a model without eyes":   {BaseURL: base},
		"nothing reads pictures": {BaseURL: base, Images: true},
		"the store fails": {BaseURL: base, Images: true, Picture: func(context.Context, string) ([]byte, error) {
			return nil, fault.New(fault.Invalid, "gone")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := must(t, conf)
			if _, err := c.Complete(t.Context(), chat.Request{User: "u", Images: pictures}); err == nil {
				t.Error("Complete answers without the picture, want an error")
			}
			scored := chat.ScoreRequest{User: "u", Images: pictures, Answers: []string{"a"}}
			if _, err := c.Score(t.Context(), scored); err == nil {
				t.Error("Score answers without the picture, want an error")
			}
		})
	}
}
