package tinylm

import "math"

// pointerScale is 1/√Dim of the default width. It is part of the format: other widths use it, too.
const pointerScale = 0.125

// headRows returns the hidden states of a pointer step's candidates and their keys, both as rows of Dim values.
func (m *Model) headRows(hid []float32, st step, gathered, keys []float32) ([]float32, []float32) {
	d := m.Cfg.Dim
	gathered, keys = grow(gathered, len(st.cands)*d), grow(keys, len(st.cands)*d)
	for i, pos := range st.cands {
		copy(gathered[i*d:(i+1)*d], hid[pos*d:(pos+1)*d])
	}

	gemm(len(st.cands), d, d, gathered, d, 1, m.v.key[st.head*d:], numPointers*d, keys, d, false)

	return gathered, keys
}

// headWork is the scratch of a head's evaluation, kept for its backward pass.
type headWork struct {
	kind, query, gathered, keys []float32
	logp                        []float64 // log-probability of every candidate
}

// evaluate computes the log-probabilities of a step's candidates at the hidden state h, into w.logp. hid holds the
// hidden states of the sequence. Pointer heads score a candidate by the product of a query and its key (Vinyals et
// al., "Pointer Networks", 2015).
func (m *Model) evaluate(w *headWork, h, hid []float32, st step) {
	d := m.Cfg.Dim
	w.logp = grow(w.logp, len(st.cands))
	if st.head == headKind {
		w.kind = grow(w.kind, kindSlots)
		gemm(1, kindSlots, d, h, d, 1, m.v.kind, kindSlots, w.kind, kindSlots, false)
		for i, k := range st.cands {
			w.logp[i] = float64(w.kind[k])
		}
	} else {
		w.query = grow(w.query, d)
		gemm(1, d, d, h, d, 1, m.v.query[st.head*d:], numPointers*d, w.query, d, false)
		w.gathered, w.keys = m.headRows(hid, st, w.gathered, w.keys)
		for i := range st.cands {
			w.logp[i] = float64(dot(w.query, w.keys[i*d:(i+1)*d]) * pointerScale)
		}
	}

	logSoftmax(w.logp)
}

func dot(a, b []float32) float32 {
	var s float32
	for i, x := range a {
		s += x * b[i]
	}

	return s
}

// logSoftmax replaces scores by their log-probabilities: x − log Σ exp x.
func logSoftmax(x []float64) {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}

	var sum float64
	for _, v := range x {
		sum += math.Exp(v - top)
	}

	lse := top + math.Log(sum)
	for i := range x {
		x[i] -= lse
	}
}

// back adds the gradients for dL/dlogp(pick) = c to dh (of h), to dhid (of the candidates) and to g. With
// dlogp(pick)/dscoreᵢ = [i = pick] − pᵢ it goes through the softmax, then through the head.
func (m *Model) back(w *headWork, g view, h, dh, dhid []float32, st step, pick int, c float64) {
	d := m.Cfg.Dim
	dquery := make([]float32, d)
	for i, cand := range st.cands {
		dl := -math.Exp(w.logp[i])
		if cand == pick {
			dl++
		}

		dl *= c
		if st.head == headKind {
			for r := 0; r < d; r++ {
				g.kind[r*kindSlots+cand] += float32(dl) * h[r]
				dh[r] += float32(dl) * m.v.kind[r*kindSlots+cand]
			}
			continue
		}

		ds := float32(dl) * pointerScale
		key, at := w.keys[i*d:(i+1)*d], w.gathered[i*d:(i+1)*d]
		for r := range dquery {
			dquery[r] += ds * key[r]
		}

		m.backKey(g, at, dhid[cand*d:(cand+1)*d], w.query, st.head, ds)
	}

	if st.head == headKind {
		return
	}

	for r := 0; r < d; r++ {
		wrow := m.v.query[r*numPointers*d+st.head*d:][:d]
		grow := g.query[r*numPointers*d+st.head*d:][:d]
		var s float32
		for k, q := range dquery {
			s += q * wrow[k]
			grow[k] += h[r] * q
		}

		dh[r] += s
	}
}

// backKey adds the gradients through the key of one candidate, whose hidden state is at, to dat and to g.
func (m *Model) backKey(g view, at, dat, query []float32, head int, ds float32) {
	d := m.Cfg.Dim
	for r := 0; r < d; r++ {
		wrow := m.v.key[r*numPointers*d+head*d:][:d]
		grow := g.key[r*numPointers*d+head*d:][:d]
		var s float32
		x := at[r] * ds
		for k, q := range query {
			s += q * wrow[k]
			grow[k] += x * q
		}

		dat[r] += s * ds
	}
}
