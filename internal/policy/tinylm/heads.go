package tinylm

import "math"

// pointerScale is 1/√Dim for the default width. It is part of the checkpoint format, so other widths use it, too.
const pointerScale = 0.125

// headRows returns the hidden states of a pointer step's candidates and their keys, both as rows of Dim values.
func (m *Model) headRows(hid []float32, st step, gathered, keys []float32) ([]float32, []float32) {
	d := m.Cfg.Dim
	gathered = grow(gathered, len(st.cands)*d)
	keys = grow(keys, len(st.cands)*d)
	for i, pos := range st.cands {
		copy(gathered[i*d:(i+1)*d], hid[pos*d:(pos+1)*d])
	}

	weights := byRow(m.v.key[st.head*d:], numPointers*d)
	gemm(shape{len(st.cands), d, d}, byRow(gathered, d), weights, byRow(keys, d), false)

	return gathered, keys
}

// headWork is the scratch memory of a head's evaluation, kept for its backward pass.
type headWork struct {
	kind, query, gathered, keys []float32
	logp                        []float64 // log-probability of every candidate
}

// evaluate computes the log-probabilities of a step's candidates, in nats, at the hidden state h, into work.logp. hid
// holds the hidden states of the sequence. Pointer heads score a candidate by the product of a query and the
// candidate's key (Vinyals et al., "Pointer Networks", 2015).
func (m *Model) evaluate(work *headWork, h, hid []float32, st step) {
	d := m.Cfg.Dim
	work.logp = grow(work.logp, len(st.cands))
	if st.head == headKind {
		work.kind = grow(work.kind, kindSlots)
		gemm(shape{1, kindSlots, d}, byRow(h, d), byRow(m.v.kind, kindSlots), byRow(work.kind, kindSlots), false)
		for i, k := range st.cands {
			work.logp[i] = float64(work.kind[k])
		}
	} else {
		work.query = grow(work.query, d)
		gemm(shape{1, d, d}, byRow(h, d), byRow(m.v.query[st.head*d:], numPointers*d), byRow(work.query, d), false)
		work.gathered, work.keys = m.headRows(hid, st, work.gathered, work.keys)
		for i := range st.cands {
			work.logp[i] = float64(dot(work.query, work.keys[i*d:(i+1)*d]) * pointerScale)
		}
	}

	logSoftmax(work.logp)
}

func dot(a, b []float32) float32 {
	var s float32
	for i, x := range a {
		s += x * b[i]
	}

	return s
}

// logSoftmax replaces scores by their log-probabilities, x − log Σ exp x.
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

// headBack adds the gradients for dL/dlogp(pick) = c of a decision to dhid, the gradients of the hidden states of the
// sequence, and to g. With dlogp(pick)/dscoreᵢ = [i = pick] − pᵢ, it goes through the softmax and then through the
// head.
func (m *Model) headBack(x *decision, g view, hid, dhid []float32, c float64) {
	d := m.Cfg.Dim
	h := hid[x.row*d : (x.row+1)*d]
	dh := dhid[x.row*d : (x.row+1)*d]
	st := x.st
	work := &x.work
	dquery := make([]float32, d)
	sums := make([]float32, d)
	for i, cand := range st.cands {
		dl := -math.Exp(work.logp[i])
		if cand == x.pick {
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
		key := work.keys[i*d : (i+1)*d]
		at := work.gathered[i*d : (i+1)*d]
		addScaled(dquery, key, ds)
		dat := dhid[cand*d : (cand+1)*d]
		rowProducts(sums, m.v.key[st.head*d:], numPointers*d, work.query)
		for r, s := range sums {
			addScaled(g.key[r*numPointers*d+st.head*d:][:d], work.query, at[r]*ds)
			dat[r] += s * ds
		}
	}

	if st.head == headKind {
		return
	}

	rowProducts(sums, m.v.query[st.head*d:], numPointers*d, dquery)
	for r, s := range sums {
		addScaled(g.query[r*numPointers*d+st.head*d:][:d], dquery, h[r])
		dh[r] += s
	}
}

// rowProducts writes the products of y and the rows of w, which are ld apart, to out, whose length must be a multiple
// of 4. Every sum is computed in order, and four are interleaved to hide latency.
func rowProducts(out, w []float32, ld int, y []float32) {
	n := len(y)
	for r := 0; r < len(out); r += 4 {
		w0 := w[r*ld:][:n]
		w1 := w[(r+1)*ld:][:n]
		w2 := w[(r+2)*ld:][:n]
		w3 := w[(r+3)*ld:][:n]
		var s0, s1, s2, s3 float32
		for k, v := range y {
			s0 += v * w0[k]
			s1 += v * w1[k]
			s2 += v * w2[k]
			s3 += v * w3[k]
		}
		out[r], out[r+1], out[r+2], out[r+3] = s0, s1, s2, s3
	}
}
