package browser

import "context"

// Pool is room for episodes: some browsers with some tabs each, started when they are needed.
type Pool struct {
	browsers []*Browser
	free     chan *Place
}

// Place is room for one episode at a time. Its tab stays open from episode to episode while it is sound.
type Place struct {
	Browser *Browser
	Tab     *Tab // nil until Prepare
	played  int
}

// recycleAfter bounds what pages may leak, in episodes of one tab.
const recycleAfter = 500

// NewPool starts nothing yet.
func NewPool(browsers, tabs int) *Pool {
	p := &Pool{free: make(chan *Place, browsers*tabs)}
	for range browsers {
		p.browsers = append(p.browsers, &Browser{})
	}
	for range tabs {
		for _, b := range p.browsers {
			p.free <- &Place{Browser: b}
		}
	}
	return p
}

// Take waits for a free place.
func (p *Pool) Take(ctx context.Context) (*Place, error) {
	select {
	case x := <-p.free:
		return x, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Prepare counts an episode and opens the place's tab where it has none.
func (x *Place) Prepare(open func(*Browser) (*Tab, error)) error {
	if x.Tab == nil {
		t, err := open(x.Browser)
		if err != nil {
			return err
		}
		x.Tab, x.played = t, 0
	}
	x.played++
	return nil
}

// Give takes a place back. The tab of one that is not sound is closed, and so is an old one.
func (p *Pool) Give(x *Place, sound bool) {
	if x.Tab != nil && (!sound || x.played >= recycleAfter) {
		x.Tab.Close()
		x.Tab = nil
	}
	p.free <- x
}

// Close ends the browsers.
func (p *Pool) Close() {
	for _, b := range p.browsers {
		b.Close()
	}
}
