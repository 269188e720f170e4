package domain

// TrainParams are the hyper-parameters (METHOD.md section 4, TRAINERS.md 3.2).
type TrainParams struct {
	LearningRate float64 `json:"learning_rate" yaml:"learning_rate"` // peak; > 0
	Warmup       float64 `json:"warmup" yaml:"warmup"`               // share of the steps, 0..1
	FinalShare   float64 `json:"final_share" yaml:"final_share"`     // of the peak at the end of the cosine, 0..1
	BatchSize    int     `json:"batch_size" yaml:"batch_size"`
	Passes       int     `json:"passes" yaml:"passes"` // over the data set
	Beta         float64 `json:"beta" yaml:"beta"`
	Ftx          float64 `json:"ftx" yaml:"ftx"`
	WeightDecay  float64 `json:"weight_decay" yaml:"weight_decay"`
}

// TrainPoint is one optimiser step's figures, means over its batch.
type TrainPoint struct {
	Step     int     `json:"step"`
	Steps    int     `json:"steps"`
	Loss     float64 `json:"loss"`
	Margin   float64 `json:"margin,omitempty"`
	Accuracy float64 `json:"accuracy,omitempty"`
	Live     string  `json:"-"` // for people who watch: speed, time left; never kept
}

// TrainReport says how a policy was made by another program.
type TrainReport struct {
	Command  []string           `json:"command"`
	Versions map[string]string  `json:"versions"`
	Metrics  map[string]float64 `json:"metrics"` // final ones, under the program's names
	Files    []ArtifactFile     `json:"files"`   // of the artifact
	Log      *ArtifactFile      `json:"log,omitempty"`
}

// UntrainedBase stands for a policy that is the base model as it is.
const UntrainedBase = "model"

// Probe compares a policy with its parent on prompts of its own data set.
type Probe struct {
	Prompts      int            `json:"prompts"`
	KL           float64        `json:"kl"`            // mean of log π − log π_parent on answers sampled from π, in nats
	KLBase       float64        `json:"kl_base"`       // the same against the base policy
	LogprobDelta float64        `json:"logprob_delta"` // mean change of log π(chosen)
	Entropy      float64        `json:"entropy"`       // −mean log π of the sampled answers, in nats
	ParseRate    float64        `json:"parse_rate"`
	Length       float64        `json:"length"`           // mean characters of the sampled answers
	Actions      map[string]int `json:"actions"`          // sampled action types
	Served       bool           `json:"served,omitempty"` // sampled through the policy servers: the KL was not measured; the change of log π(chosen) is the training's own, against the reference
}
