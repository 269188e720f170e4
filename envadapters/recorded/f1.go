package recorded

// F1 returns the F measure of two lists of tokens of the given lengths that share some tokens. Two empty lists are
// equal.
func F1(shared, got, want int) float64 {
	if got == 0 && want == 0 {
		return 1
	}
	if shared == 0 {
		return 0
	}
	precision := float64(shared) / float64(got)
	recall := float64(shared) / float64(want)

	return 2 * precision * recall / (precision + recall)
}
