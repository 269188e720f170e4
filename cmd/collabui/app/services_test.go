package app

import (
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
)

func TestWhatRunsKeepsItsAddressesAndNumbers(t *testing.T) {
	a := &App{Data: DefaultData}
	running := supervisor.State{Tabs: 3, Services: map[supervisor.Name]supervisor.Service{
		supervisor.Temporal: {Addr: "h:7233"},
		supervisor.S3:       {Addr: "https://s3.example.com"},
		supervisor.Redis:    {Addr: "redis://:xxxxx@r:1"},
	}}
	same := config.Endpoints{Temporal: "h:7233", Redis: "redis://:pw@r:1"}
	same.SetStore("https://s3.example.com")
	plain := same
	plain.SetStore("http://s3.example.com")

	for _, c := range []struct {
		name  string
		asked config.Endpoints
		tabs  int
		want  bool // whether they agree
	}{
		{"the same addresses", same, defaultTabs, true},
		{"no addresses", config.Endpoints{}, 3, true},
		{"another Temporal", config.Endpoints{Temporal: "other:7233"}, defaultTabs, false},
		{"a store without TLS", plain, defaultTabs, false},
		{"more episodes", same, defaultTabs + 5, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := a.checkAgreement(running, c.asked, c.tabs)
			if (err == nil) != c.want {
				t.Errorf("checkAgreement = %v, want agreement %v", err, c.want)
			}
			if err != nil && fault.KindOf(err) != fault.Invalid {
				t.Errorf("checkAgreement = %v, want an invalid fault", err)
			}
		})
	}
}
