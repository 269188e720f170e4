package gateway

import "github.com/collabui/collabui/internal/httpd"

// measure creates the gateway's metrics.
func (g *Gateway) measure() {
	g.metrics = httpd.NewMetrics("collabui_serving")
	g.loads = g.metrics.Counter("loads_total", "Adapters that the engine loaded.")
	g.mends = g.metrics.Counter("mends_total", "Adapters that the engine had lost and loaded again.")

	g.metrics.Gauge("outstanding", "Requests and loads in flight.", func() float64 {
		g.mu.Lock()
		defer g.mu.Unlock()

		return float64(g.inFlight)
	})

	g.metrics.Gauge("adapters", "Adapters that are loaded and ready.", func() (count float64) {
		g.mu.Lock()
		defer g.mu.Unlock()

		for _, p := range g.policies {
			if p.seated && p.busy == nil {
				count++
			}
		}

		return count
	})

	g.metrics.Gauge("asleep", "1 while the engine sleeps.", func() float64 {
		if g.sleeping() {
			return 1
		}

		return 0
	})
}
