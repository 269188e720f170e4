package view

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
)

// cost is the cost of a call to a chat endpoint. Money is at the prices of the specification, or 0 if it has no prices.
type cost struct {
	domain.Usage
	Money float64 `json:"money,omitempty"`
}

// priced returns the cost of calls to a role's model. Without an endpoint for the role, Money is 0.
func (e Episode) priced(role spec.Role, usage domain.Usage) cost {
	return cost{Usage: usage, Money: e.spec.Models[role].Price.Of(usage)}
}

func (e Episode) priceOfCritic(usage domain.Usage) cost { return e.priced(e.spec.Critic.Model, usage) }

func (e Episode) priceOfAdversary(usage domain.Usage) cost {
	return e.priced(e.spec.Adversary.Model, usage)
}

// roles returns the costs of critic and adversary for the episode.
func (e Episode) roles() (out []cost) {
	if e.Credits != nil {
		for _, audit := range e.Credits.Audit {
			out = append(out, e.priceOfCritic(audit.Usage))
		}
		for _, audit := range e.Credits.HeardAudit {
			out = append(out, e.priceOfCritic(audit.Usage))
		}
	}
	if e.Pairs == nil {
		return out
	}
	for _, audit := range e.Pairs.Audit {
		out = append(out, e.priceOfCritic(audit.Usage))
	}
	for _, audit := range e.Pairs.HeardAudit {
		out = append(out, e.priceOfCritic(audit.Usage))
	}
	for _, call := range e.Pairs.Calls {
		out = append(out, e.priceOfAdversary(call.Usage))
	}

	return out
}
