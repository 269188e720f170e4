package tinylm

import (
	"math"
	"slices"
)

// seq is a sequence of tokens with its key-value cache, to which extend adds rows.
type seq struct {
	toks []Token
	cap  int         // capacity in tokens, a multiple of 16
	kt   [][]float32 // per layer: head × 16 × cap, keys transposed
	v    [][]float32 // per layer: head × cap × 16
	hid  []float32   // cap × Dim: hidden states after the final norm
}

// newSeq returns an empty sequence with room for at least capacity tokens.
func (m *Model) newSeq(capacity int) *seq {
	c := pad(capacity, 16)
	s := &seq{cap: c, hid: make([]float32, c*m.Cfg.Dim)}
	for range m.Cfg.Layers {
		s.kt = append(s.kt, make([]float32, m.Cfg.Dim*c))
		s.v = append(s.v, make([]float32, m.Cfg.Dim*c))
	}

	return s
}

// reuseSeq returns an empty sequence with room for at least capacity tokens, which is s itself if s is large enough. s
// may be nil.
func (m *Model) reuseSeq(s *seq, capacity int) *seq {
	if s == nil || s.cap < capacity {
		return m.newSeq(capacity)
	}
	s.toks = s.toks[:0]

	return s
}

// fork copies the first n rows into a new sequence with room for extra more.
func (m *Model) fork(s *seq, n, extra int) *seq {
	f := m.newSeq(n + extra)
	f.toks = append(make([]Token, 0, n+extra), s.toks[:n]...)
	copy(f.hid, s.hid[:n*m.Cfg.Dim])
	for l := range s.kt {
		for r := 0; r < m.Cfg.Dim; r++ {
			copy(f.kt[l][r*f.cap:], s.kt[l][r*s.cap:r*s.cap+n])
		}

		for h := 0; h < m.Cfg.Heads; h++ {
			copy(f.v[l][h*f.cap*headSize:], s.v[l][h*s.cap*headSize:(h*s.cap+n)*headSize])
		}
	}

	return f
}

// layerActs holds the activations of a layer that the backward pass needs.
type layerActs struct {
	x, a, qkv, o, x2, b, up []float32   // see layer
	rms1, rms2              []float32   // 1/rms of every row of x and of x2
	probs                   [][]float32 // per sequence and head: rows × padded keys
}

// acts is the workspace of a pass, with the rows of all sequences one after another. Passes reuse it.
type acts struct {
	rows   int
	layers []layerActs
	x      []float32 // residual stream after the last layer
	rms    []float32
	hid    []float32 // after the final norm
	rel    [][]uint8 // per sequence: rows × padded keys
	scores []float32
	keep   bool // whether to keep the probabilities for the backward pass
}

// grow returns a slice of length n that reuses x if x is large enough. Its elements are undefined.
func grow[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n, n+n/4)
	}

	return x[:n]
}

// resize makes room for a pass over the given numbers of rows and sequences.
func (a *acts) resize(cfg Config, rows, seqs int) {
	a.rows = rows
	d := cfg.Dim
	if a.layers == nil {
		a.layers = make([]layerActs, cfg.Layers)
	}

	for i := range a.layers {
		l := &a.layers[i]
		l.x = grow(l.x, rows*d)
		l.a = grow(l.a, rows*d)
		l.x2 = grow(l.x2, rows*d)
		l.b = grow(l.b, rows*d)
		l.o = grow(l.o, rows*d)
		l.qkv = grow(l.qkv, rows*3*d)
		l.up = grow(l.up, rows*cfg.FF)
		l.rms1 = grow(l.rms1, rows)
		l.rms2 = grow(l.rms2, rows)
		l.probs = grow(l.probs, seqs*cfg.Heads)
	}

	a.x = grow(a.x, rows*d)
	a.hid = grow(a.hid, rows*d)
	a.rms = grow(a.rms, rows)
	a.rel = grow(a.rel, seqs)
}

// extend reads new tokens of every sequence. It stores their hidden states in seq.hid and, for all sequences in order,
// in a.hid. The bits of a row depend only on its own sequence, and neither on the batch nor on how many of its rows
// were cached.
func (m *Model) extend(a *acts, seqs []*seq, add [][]Token) {
	d := m.Cfg.Dim
	rows := 0
	for _, tokens := range add {
		rows += len(tokens)
	}

	a.resize(m.Cfg, rows, len(seqs))
	row := 0
	for i, s := range seqs {
		past := len(s.toks)
		s.toks = append(s.toks, add[i]...)
		for j := range add[i] {
			m.embed(add[i][j], a.layers[0].x[(row+j)*d:(row+j+1)*d])
		}

		a.rel[i] = relations(grow(a.rel[i], len(add[i])*pad(len(s.toks), 16)), s.toks, past)
		row += len(add[i])
	}

	for l := range a.layers {
		out := a.x
		if l+1 < len(a.layers) {
			out = a.layers[l+1].x
		}

		m.layer(a, l, seqs, add, out)
	}

	rmsNorm(a.hid, a.x, m.v.norm, a.rms, d)
	row = 0
	for i, s := range seqs {
		n := len(add[i])
		copy(s.hid[(len(s.toks)-n)*d:], a.hid[row*d:(row+n)*d])
		row += n
	}
}

// embed writes the sum of a token's embeddings to x.
func (m *Model) embed(token Token, x []float32) {
	d := len(x)
	h1, h2 := token.buckets()
	tables := [...][]float32{
		m.v.word1[h1*d:], m.v.word2[h2*d:], m.v.sec[int(token.Sec)*d:], m.v.line[int(token.Line)*d:],
		m.v.col[int(token.Col)*d:], m.v.flag[int(token.Flags)*d:], m.v.piece[int(token.Piece)*d:],
	}

	copy(x, tables[0][:d])
	for _, e := range tables[1:] {
		addTo(x, e[:d])
	}
}

// relations writes, for the rows from past on, the relation of every key that the row may see, and returns out. Rows
// are padded to a multiple of 16 keys.
func relations(out []uint8, toks []Token, past int) []uint8 {
	lp := pad(len(toks), 16)
	for i := past; i < len(toks); i++ {
		token := toks[i]
		row := out[(i-past)*lp:][:i+1]
		for j := range row {
			k := &toks[j]
			if k.Branch != 0 && k.Branch != token.Branch {
				row[j] = 0 // masked by softmaxRow
				continue
			}
			place := 4
			if back := token.Pos - k.Pos; back < 3 {
				place = int(back)
			} else if k.LineNo == token.LineNo {
				place = 3
			}
			kind := int(k.Sec)
			if k.Word == token.Word && token.Word != 0 {
				kind += int(numSections)
			}
			row[j] = uint8(place*relKinds + kind)
		}
	}

	return out
}

// rmsNorm writes x·gain/rms(x) of every row of d values to out, and 1/rms(x) to rms (Zhang & Sennrich, "Root Mean
// Square Layer Normalization", 2019).
func rmsNorm(out, x, gain, rms []float32, d int) {
	for r := range rms {
		row := x[r*d : (r+1)*d]
		inv := float32(1 / math.Sqrt(float64(sumSquares(row))/float64(d)+normEps))
		rms[r] = inv
		mulGain(out[r*d:(r+1)*d], row, gain, inv)
	}
}

// layer computes a pre-norm decoder layer (Vaswani et al., "Attention Is All You Need", 2017, with RMSNorm before each
// part):
//
//	a  = norm(x),   qkv = a·Wqkv,        o = attention(qkv)
//	x2 = x + o·Wo,  up = relu(norm(x2)·Wup),  out = x2 + up·Wdown
func (m *Model) layer(a *acts, l int, seqs []*seq, add [][]Token, out []float32) {
	d := m.Cfg.Dim
	ff := m.Cfg.FF
	rows := a.rows
	la := &a.layers[l]
	w := m.v.layers[l]
	rmsNorm(la.a, la.x, w.norm1, la.rms1, d)
	gemm(shape{rows, 3 * d, d}, byRow(la.a, d), byRow(w.qkv, 3*d), byRow(la.qkv, 3*d), false)
	m.attention(a, l, seqs, add)
	copy(la.x2, la.x)
	gemm(shape{rows, d, d}, byRow(la.o, d), byRow(w.out, d), byRow(la.x2, d), true)
	rmsNorm(la.b, la.x2, w.norm2, la.rms2, d)
	gemm(shape{rows, ff, d}, byRow(la.b, d), byRow(w.up, ff), byRow(la.up, ff), false)
	relu(la.up)
	copy(out, la.x2)
	gemm(shape{rows, d, ff}, byRow(la.up, ff), byRow(w.down, d), byRow(out, d), true)
}

// causalRows is the number of queries whose attention is computed together. Keys after the last of them are skipped, as
// their probabilities are exactly 0. It does not affect the bits of the result.
const causalRows = 24

// attention computes causal multi-head attention, softmax(q·kᵀ/√headSize + bias)·v with a bias for each relation, from
// la.qkv into la.o. It appends the keys and values to the caches of the sequences.
func (m *Model) attention(a *acts, l int, seqs []*seq, add [][]Token) {
	d := m.Cfg.Dim
	la := &a.layers[l]
	bias := m.relBias(l)
	row := 0
	for i, s := range seqs {
		n := len(add[i])
		total := len(s.toks)
		past := total - n
		lp := pad(total, 16)
		for h := 0; h < m.Cfg.Heads; h++ {
			kt := s.kt[l][h*headSize*s.cap:]
			v := s.v[l][h*s.cap*headSize:]
			for r := 0; r < n; r++ {
				src := la.qkv[(row+r)*3*d+h*headSize:]
				for c := 0; c < headSize; c++ {
					kt[c*s.cap+past+r] = src[d+c]
				}
				copy(v[(past+r)*headSize:(past+r+1)*headSize], src[2*d:])
			}

			var probs []float32
			if a.keep {
				la.probs[i*m.Cfg.Heads+h] = grow(la.probs[i*m.Cfg.Heads+h], n*lp)
				probs = la.probs[i*m.Cfg.Heads+h]
			} else {
				a.scores = grow(a.scores, n*lp)
				probs = a.scores
			}

			for from := 0; from < n; from += causalRows {
				rows := min(causalRows, n-from)
				seen := past + from + rows
				p := probs[from*lp:]
				at := row + from
				q := byRow(la.qkv[at*3*d+h*headSize:], 3*d)
				gemm(shape{rows, pad(seen, 16), headSize}, q, byRow(kt, s.cap), byRow(p, lp), false)
				for r := range rows {
					softmaxRow(p[r*lp:(r+1)*lp], a.rel[i][(from+r)*lp:], bias[h*relAll:(h+1)*relAll], s.toks,
						past+from+r)
				}
				mixed := la.o[at*d+h*headSize:]
				gemm(shape{rows, headSize, seen}, byRow(p, lp), byRow(v, headSize), byRow(mixed, d), false)
			}
		}

		row += n
	}
}

// relBias returns the sum of the two relation tables, head × relAll.
func (m *Model) relBias(l int) []float32 {
	heads := m.Cfg.Heads
	v := m.v.layers[l]
	out := make([]float32, heads*relAll)
	for h := 0; h < m.Cfg.Heads; h++ {
		for p := 0; p < relPlaces; p++ {
			for k := 0; k < relKinds; k++ {
				out[h*relAll+p*relKinds+k] = v.relPlace[p*heads+h] + v.relKind[k*heads+h]
			}
		}
	}

	return out
}

const attnScale = 0.25 // 1/sqrt(headSize)

// softmaxRow turns the scores of query i into probabilities of keys 0 to i. Keys of another branch and the padding get
// exactly 0.
func softmaxRow(x []float32, rel []uint8, bias []float32, toks []Token, i int) {
	whole := (i + 1) &^ 7
	top := float32(-1e30)
	if whole > 0 {
		top = biasMax(x[:whole], rel[:whole], bias, attnScale)
	}

	for j := whole; j <= i; j++ {
		x[j] = x[j]*attnScale + bias[rel[j]]
		top = max(top, x[j])
	}

	n := pad(i+1, 8)
	for j := i + 1; j < n; j++ {
		x[j] = -1e30
	}

	others := 0 // keys of other branches, which come right before the row's own branch
	for branch, j := toks[i].Branch, i; branch != 0 && toks[j].Branch != 0; j-- {
		if toks[j].Branch != branch {
			x[j] = -1e30
			others++
		}
	}

	if others > 0 { // their scores must not determine the shift
		top = slices.Max(x[:i+1])
	}

	by := 1 / expRow(x[:n], top)
	for j := i; others > 0; j-- {
		if toks[j].Branch != toks[i].Branch {
			x[j] = 0
			others--
		}
	}

	clear(x[i+1:])
	scaleRow(x[:n], by) // after the masked values have become 0, because subnormal products would be slow
}
