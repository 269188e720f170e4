// Package roles assembles the activities that each role of a worker offers. Workers register the four types, and
// workflows name their methods.
package roles

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/activities/evaluate"
	"github.com/collabui/collabui/activities/experiment"
	"github.com/collabui/collabui/activities/grade"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/activities/preflight"
	"github.com/collabui/collabui/activities/retrain"
	"github.com/collabui/collabui/activities/rollout"
	"github.com/collabui/collabui/activities/stage1"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/activities/update"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/trainer"
)

// Go promotes the methods of embedded types, whose names must differ.
type (
	lifecycleControl  = lifecycle.Control
	epochControl      = epoch.Control
	evaluateControl   = evaluate.Control
	stage1Control     = stage1.Control
	experimentControl = experiment.Control
	retrainControl    = retrain.Control
	preflightControl  = preflight.Control

	rollouts          = rollout.Rollouts
	evaluateRollouts  = evaluate.Rollouts
	stage1Rollouts    = stage1.Rollouts
	preflightRollouts = preflight.Rollouts

	models          = grade.Models
	stage1Models    = stage1.Models
	preflightModels = preflight.Models

	gpu          = update.GPU
	stage1GPU    = stage1.GPU
	preflightGPU = preflight.GPU
)

// Control has the activities of the role control: they plan, commit and conclude.
type Control struct {
	*lifecycleControl
	*epochControl
	*evaluateControl
	*stage1Control
	*experimentControl
	*retrainControl
	*preflightControl
}

// Rollouts has the activities of the role rollout: they play episodes in environments.
type Rollouts struct {
	*rollouts
	*evaluateRollouts
	*stage1Rollouts
	*preflightRollouts
}

// Models has the activities of the role model: they play the roles of training time, such as critic and adversary.
type Models struct {
	*models
	*stage1Models
	*preflightModels
}

// GPU has the activities of the role gpu: they train policies. With the embedded trainer they need no GPU.
type GPU struct {
	*gpu
	*stage1GPU
	*preflightGPU
}

// Dependencies are what the activities of a process share. Fields that the roles of a worker do not use may be zero.
type Dependencies struct {
	activities.Common
	Suites    *play.Suites
	Policies  chat.Model  // answers for the agents; a model's name is a policy's digest
	Scores    chat.Scorer // scores answers under the policies
	Endpoints *endpoints.Endpoints
	Wording   play.Wording

	Trainers map[string]trainer.Trainer // by their names in specifications
	Threads  int                        // of one update

	// Load publishes a policy to a number of servers; 0 means all.
	Load func(ctx context.Context, policy string, quorum int) error
	// Ready returns why fewer policy servers than a quorum are healthy; 0 means all. If it is nil, that is unknown.
	Ready func(ctx context.Context, quorum int) error
	// Servers are the policy servers, each alone; if empty, Scores is taken for the only one.
	Servers []training.Server

	Notices lifecycle.Notices
	Missed  func(ctx context.Context, schedule string) (int, error) // see retrain.Control
	View    string                                                  // address of the viewer, for people
}

// Control returns the activities of the role control.
func (d Dependencies) Control() *Control {
	return &Control{
		&lifecycleControl{Common: d.Common, Suites: d.Suites, Notices: d.Notices, View: d.View},
		&epochControl{Common: d.Common, Suites: d.Suites},
		&evaluateControl{Common: d.Common, Suites: d.Suites},
		&stage1Control{Common: d.Common},
		&experimentControl{Common: d.Common},
		&retrainControl{Common: d.Common, Suites: d.Suites, Missed: d.Missed},
		&preflightControl{Common: d.Common, Suites: d.Suites},
	}
}

// Rollouts returns the activities of the role rollout.
func (d Dependencies) Rollouts() *Rollouts {
	return &Rollouts{
		&rollouts{
			Common: d.Common, Suites: d.Suites, Policies: d.Policies, Endpoints: d.Endpoints, Over: d.Wording.Over,
		},
		&evaluateRollouts{
			Common: d.Common, Suites: d.Suites, Policies: d.Policies, Endpoints: d.Endpoints, Over: d.Wording.Over,
		},
		&stage1Rollouts{
			Common: d.Common, Suites: d.Suites, Policies: d.Policies, Endpoints: d.Endpoints, Wording: d.Wording,
		},
		&preflightRollouts{Common: d.Common, Suites: d.Suites, Policies: d.Policies, Endpoints: d.Endpoints},
	}
}

// Models returns the activities of the role model.
func (d Dependencies) Models() *Models {
	feedback := grade.Feedback{
		Bucket: d.Bucket, Policies: d.Policies, Scores: d.Scores, Endpoints: d.Endpoints, Wording: d.Wording,
	}

	return &Models{
		&models{Common: d.Common, Feedback: feedback},
		&stage1Models{Common: d.Common, Feedback: feedback},
		&preflightModels{Common: d.Common, Endpoints: d.Endpoints},
	}
}

// GPU returns the activities of the role gpu.
func (d Dependencies) GPU() *GPU {
	servers := d.Servers
	if len(servers) == 0 && d.Scores != nil {
		servers = []training.Server{{Name: "the policy server", Scorer: d.Scores}}
	}
	jobs := &training.Jobs{
		Common: d.Common, Trainers: d.Trainers, Threads: d.Threads, Load: d.Load, Servers: servers,
	}

	return &GPU{
		&gpu{Common: d.Common, Jobs: jobs, Policies: d.Policies, Scores: d.Scores},
		&stage1GPU{Common: d.Common, Jobs: jobs},
		&preflightGPU{Common: d.Common, Jobs: jobs, Ready: d.Ready},
	}
}
