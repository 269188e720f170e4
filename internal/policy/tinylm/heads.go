package tinylm

import "math"

// pointerScale is 1/sqrt(Dim) for the default width; it is part of the format.
const pointerScale = 0.125

// headRows gathers, for a pointer step, the candidates' keys: rows of Dim values.
func (m *Model) headRows(hid []float32, st step, gathered, keys []float32) ([]float32, []float32) {
	d := m.Cfg.Dim
	gathered, keys = grow(gathered, len(st.cands)*d), grow(keys, len(st.cands)*d)
	for i, pos := range st.cands {
		copy(gathered[i*d:(i+1)*d], hid[pos*d:(pos+1)*d])
	}
	gemm(len(st.cands), d, d, gathered, d, 1, m.v.key[st.head*d:], numPointers*d, keys, d, false)
	return gathered, keys
}

// headWork is the scratch of one head evaluation, kept for its backward pass.
type headWork struct {
	kind, query, gathered, keys []float32
	logp                        []float64 // log-probability of every candidate
}

// evaluate gives the log-probabilities of a step's candidates at the hidden state h; hid holds the hidden states of the sequence.
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

// back adds to the gradients for dL/dlogp(pick) = c: into dh (at h), dhid (at the candidates) and g.
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
