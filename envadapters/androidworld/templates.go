package androidworld

import "time"

// blame counts a failed setup of a template. Once it has failed on several slots, the fault lies with the template,
// which is then barred for a while.
func (p *pool) blame(template string, s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.blamed[template] == nil {
		p.blamed[template] = map[string]int{}
	}
	p.blamed[template][s.url]++

	times := 0
	for _, n := range p.blamed[template] {
		times += n
	}

	most := p.limits.templateMax
	if times >= most && len(p.blamed[template]) >= min(most, len(p.slots)) {
		p.barred[template] = time.Now().Add(p.limits.quarantine)
		delete(p.blamed, template)
	}
}

// praise forgets the failed setups of a template after a successful one.
func (p *pool) praise(template string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	delete(p.blamed, template)
}

// isBarred reports whether a template is in quarantine.
func (p *pool) isBarred(template string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	until, ok := p.barred[template]
	if ok && time.Now().After(until) {
		delete(p.barred, template)
		return false
	}

	return ok
}
