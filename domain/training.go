package domain

// TrainParams are the hyper-parameters of a training job (docs/method.md).
type TrainParams struct {
	// LearningRate is the peak of the schedule; it is above 0.
	LearningRate float64 `json:"learning_rate" yaml:"learning_rate"`
	// Warmup is the share of the steps in which the rate rises to its peak, from 0 to 1.
	Warmup float64 `json:"warmup" yaml:"warmup"`
	// FinalShare is the share of the peak that is left at the end of the cosine, from 0 to 1.
	FinalShare float64 `json:"final_share" yaml:"final_share"`
	// BatchSize is the number of pairs of an optimiser step.
	BatchSize int `json:"batch_size" yaml:"batch_size"`
	// Passes is the number of passes over the data set.
	Passes int `json:"passes" yaml:"passes"`
	// Loss is the loss of preference optimisation; empty means LossDPO. Trainers refuse those that they do not have.
	Loss Loss `json:"loss,omitempty" yaml:"loss"`
	// Beta scales the margin between policy and reference in DPO.
	Beta float64 `json:"beta" yaml:"beta"`
	// Smoothing is the assumed share of pairs whose preference is wrong, from 0 to below 0.5: the label smoothing of
	// conservative DPO, which bounds the margin.
	Smoothing float64 `json:"smoothing,omitempty" yaml:"smoothing"`
	// Ftx weighs the SFT loss of the chosen answers that is added to the loss of DPO: the mean of −log π over the
	// tokens of each answer (docs/method.md).
	Ftx float64 `json:"ftx" yaml:"ftx"`
	// SFT weighs the loss of supervised fine-tuning on all right answers, −log π(y|x), each of which is a row of its
	// own beside the pairs. 0 leaves these rows out.
	SFT float64 `json:"sft,omitempty" yaml:"sft"`
	// Clip is ε of GRPO: how far the ratio of an answer's probability to that before the update moves it, above 0.
	Clip float64 `json:"clip,omitempty" yaml:"clip"`
	// KL weighs the divergence from the reference in GRPO.
	KL          float64 `json:"kl,omitempty" yaml:"kl"`
	WeightDecay float64 `json:"weight_decay" yaml:"weight_decay"`
}

// Loss is a loss of preference optimisation. All are functions of Δ = log π(y|x) − log π_ref(y|x) of the chosen answer
// y⁺ and the rejected answer y⁻, with the margin z = β·(Δ⁺ − Δ⁻) and the label smoothing ε.
type Loss string

// The losses.
const (
	// LossDPO is −(1−ε)·log σ(z) − ε·log σ(−z): direct preference optimisation (Rafailov et al., 2023, equation 7),
	// conservative with ε > 0 (Mitchell, "A note on DPO with noisy preferences", 2023): its gradient is 0 where
	// σ(z) = 1 − ε, so the margin does not grow without end.
	LossDPO Loss = "dpo"
	// LossNormalised is LossDPO with every log-probability divided by the number of its answer's tokens (Meng et al.,
	// "SimPO", 2024, but with a reference).
	LossNormalised Loss = "dpo-normalised"
	// LossPositive is LossDPO with z = β·(Δ⁺ − Δ⁻ − λ·max(0, −Δ⁺)), λ = 5: it costs if the chosen answer becomes less
	// probable (Pal et al., "Smaug", 2024, equation 3).
	LossPositive Loss = "dpo-positive"
	// LossIPO is (Δ⁺ − Δ⁻ − 1/(2β))²: the margin has a target (Azar et al., 2023, equation 17).
	LossIPO Loss = "ipo"
)

// TrainPoint holds the figures of one optimiser step: means over its batch.
type TrainPoint struct {
	Step     int     `json:"step"`
	Steps    int     `json:"steps"`
	Loss     float64 `json:"loss"`
	Margin   float64 `json:"margin,omitempty"`
	Accuracy float64 `json:"accuracy,omitempty"`

	// Live is what people who watch see of speed and time left. It is never stored.
	Live string `json:"-"`
}

// TrainReport describes how another program made a policy.
type TrainReport struct {
	Command  []string          `json:"command"`
	Versions map[string]string `json:"versions"`
	// Metrics are the final ones, under the program's own names.
	Metrics map[string]float64 `json:"metrics"`
	// Files are the files of the artifact.
	Files []ArtifactFile `json:"files"`
	Log   *ArtifactFile  `json:"log,omitempty"`
	// PerDevice is the number of rows that a device processed together, if it had too little memory for as many as the
	// options say.
	PerDevice int `json:"per_device,omitempty"`
}

// UntrainedBase takes the place of a policy's digest where the policy is the untrained base model.
const UntrainedBase = "model"

// Precision names the arithmetic in which a trainer computes.
type Precision string

// The precisions. Exact means that trainer and server run the same code.
const (
	Exact    Precision = "exact"
	Float32  Precision = "float32"
	Float16  Precision = "float16"
	BFloat16 Precision = "bfloat16"
)
