package browser

import "context"

// Pool is a set of places for episodes: some browsers with some tabs each. Browsers and tabs start when they are
// needed.
type Pool struct {
	browsers []*Browser
	free     chan *Place
}

// Place is a tab for one episode at a time. The tab stays open from episode to episode until an error spoils it.
type Place struct {
	Browser *Browser
	Tab     *Tab // nil before the first episode
	played  int
}

// recycleAfter is the number of episodes after which a tab is replaced. It bounds leaks of pages.
const recycleAfter = 500

// NewPool returns a pool that has started nothing yet. Its pages reach the server at pages, the base URL that Serve
// returned, and the hosts that EnvHosts lists.
func NewPool(pages string, browsers, tabs int) *Pool {
	pool := &Pool{free: make(chan *Place, browsers*tabs)}

	for range browsers {
		pool.browsers = append(pool.browsers, &Browser{pages: pages})
	}

	for range tabs {
		for _, browser := range pool.browsers {
			pool.free <- &Place{Browser: browser}
		}
	}

	return pool
}

// take waits for a free place.
func (p *Pool) take(ctx context.Context) (*Place, error) {
	select {
	case place := <-p.free:
		return place, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// prepare counts an episode and, unless the place has a tab, opens one.
func (x *Place) prepare(open func(*Browser) (*Tab, error)) error {
	if x.Tab == nil {
		tab, err := open(x.Browser)
		if err != nil {
			return err
		}

		x.Tab = tab
		x.played = 0
	}

	x.played++

	return nil
}

// give takes a place back. It closes the tab if it is old or not sound.
func (p *Pool) give(place *Place, sound bool) {
	if place.Tab != nil && (!sound || place.played >= recycleAfter) {
		place.Tab.Close()
		place.Tab = nil
	}

	p.free <- place
}

// Close ends the browsers.
func (p *Pool) Close() {
	for _, browser := range p.browsers {
		browser.Close()
	}
}
