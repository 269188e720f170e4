package app

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/spec"
)

func TestOptionsOfAnEnvironmentHaveOneSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "options.yaml")
	text := "name: x\nenvironments: {phone: {suite: miniwob, data: /pages, semantics: mobile}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("COLLABUI_MINIWOB", "DIR")
	t.Setenv("COLLABUI_ANDROIDWORLD", "ws://a,ws://b")
	own := spec.Default()
	own.Environments = map[string]envadapters.Options{"mine": {Suite: "miniwob", Data: "OWN"}}

	for name, c := range map[string]struct {
		o    EnvironmentOptions
		want envadapters.Options
	}{
		"miniwob":      {want: envadapters.Options{Suite: "miniwob", Data: "DIR"}},
		"androidworld": {want: envadapters.Options{Suite: "androidworld", Servers: []string{"ws://a", "ws://b"}}},
		"ws://a": {
			o:    EnvironmentOptions{Tabs: 3},
			want: envadapters.Options{Suite: "openenv", Servers: []string{"ws://a"}, Places: 3},
		},
		"phone": {
			o:    EnvironmentOptions{spec: file},
			want: envadapters.Options{Suite: "miniwob", Data: "/pages", Semantics: "mobile"},
		},
		"mine": {want: envadapters.Options{Suite: "miniwob", Data: "OWN"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.o.Options(name, own)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("options(%s) = %+v, %v; want %+v", name, got, err, c.want)
			}
		})
	}

	_, err := (&EnvironmentOptions{}).Options("frobnicate", own)
	wantRefused(t, err, "there are webtasks, androidworld")
	_, err = (&EnvironmentOptions{spec: file}).Options("miniwob", own)
	wantRefused(t, err, "there is no miniwob under environments")
}
