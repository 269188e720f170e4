package tinylm

// gradWork is the scratch memory of one backward pass.
type gradWork struct {
	dx, dy, dqkv, do, dup []float32
	dprobs                [4][]float32
	vt                    []float32
}

// transposed holds the transposed weights of the layers: qkv, out, up, down.
type transposed [][4][]float32

// transposeWeights prepares in w the right-hand sides for the gradients of inputs, and returns it. It must be called
// after every change of the parameters.
func (m *Model) transposeWeights(w transposed) transposed {
	d := m.Cfg.Dim
	ff := m.Cfg.FF
	if w == nil {
		w = make(transposed, m.Cfg.Layers)
	}

	for l, v := range m.v.layers {
		t := &w[l]
		t[0] = transpose(t[0], v.qkv, d, 3*d, 3*d, d)
		t[1] = transpose(t[1], v.out, d, d, d, d)
		t[2] = transpose(t[2], v.up, d, ff, ff, d)
		t[3] = transpose(t[3], v.down, ff, d, d, ff)
	}

	return w
}

// transpose writes x (rows×cols, row stride ld) into out as cols×rows with row stride to, and returns out, grown if
// necessary. It does not change the elements between the rows of out.
func transpose(out, x []float32, rows, cols, ld, to int) []float32 {
	out = grow(out, cols*to)
	for from := 0; from < rows; from += 16 { // 16 float32 are a cache line
		for c := range cols {
			o := out[c*to+from : c*to+min(from+16, rows)]
			for r := range o {
				o[r] = x[(from+r)*ld+c]
			}
		}
	}

	return out
}

// backward adds the gradients of one pass to g. dhid holds dL/d(hidden states) of all rows, rows × Dim.
func (m *Model) backward(a *acts, work *gradWork, wt transposed, g view, seqs []*seq, dhid []float32) {
	d := m.Cfg.Dim
	ff := m.Cfg.FF
	rows := a.rows
	work.dx = grow(work.dx, rows*d)
	work.dy = grow(work.dy, rows*d)
	clear(work.dx)

	normed{x: a.x, gain: m.v.norm, dgain: g.norm, rms: a.rms}.back(work.dx, dhid)
	for l := len(a.layers) - 1; l >= 0; l-- {
		la := &a.layers[l]
		lw := m.v.layers[l]
		lg := g.layers[l]

		work.dup = grow(work.dup, rows*ff)
		gemm(shape{rows, ff, d}, byRow(work.dx, d), byRow(wt[l][3], ff), byRow(work.dup, ff), false)
		gemm(shape{ff, d, rows}, byColumn(la.up, ff), byRow(work.dx, d), byRow(lg.down, d), true)
		keepPositive(work.dup, la.up)
		gemm(shape{d, ff, rows}, byColumn(la.b, d), byRow(work.dup, ff), byRow(lg.up, ff), true)
		gemm(shape{rows, d, ff}, byRow(work.dup, ff), byRow(wt[l][2], d), byRow(work.dy, d), false)
		normed{x: la.x2, gain: lw.norm2, dgain: lg.norm2, rms: la.rms2}.back(work.dx, work.dy)

		work.do = grow(work.do, rows*d)
		gemm(shape{rows, d, d}, byRow(work.dx, d), byRow(wt[l][1], d), byRow(work.do, d), false)
		gemm(shape{d, d, rows}, byColumn(la.o, d), byRow(work.dx, d), byRow(lg.out, d), true)

		work.dqkv = grow(work.dqkv, rows*3*d)
		clear(work.dqkv)
		m.attentionBack(a, work, lg, l, seqs)
		gemm(shape{d, 3 * d, rows}, byColumn(la.a, d), byRow(work.dqkv, 3*d), byRow(lg.qkv, 3*d), true)
		gemm(shape{rows, d, 3 * d}, byRow(work.dqkv, 3*d), byRow(wt[l][0], d), byRow(work.dy, d), false)
		normed{x: la.x, gain: lw.norm1, dgain: lg.norm1, rms: la.rms1}.back(work.dx, work.dy)
	}

	row := 0
	for _, s := range seqs {
		for _, token := range s.toks {
			embedBack(g, token, work.dx[row*d:(row+1)*d])
			row++
		}
	}
}

// normed is rows that were normalised as y = x·gain/rms(x) (Zhang & Sennrich, "Root Mean Square Layer Normalization",
// 2019).
type normed struct {
	x, gain, dgain []float32
	rms            []float32 // 1/rms of every row
}

// back adds the gradients through the normalisation to dx and dgain.
func (n normed) back(dx, dy []float32) {
	d := len(n.gain)
	for r := 0; r < len(n.rms); r += 4 {
		end := min(r+4, len(n.rms))
		s := products(dy[r*d:end*d], n.x[r*d:end*d], n.gain)
		for i, inv := range n.rms[r:end] {
			from := (r + i) * d
			to := from + d
			scale := s[i] * (inv * inv * inv / float32(d))
			normBack(dx[from:to], n.dgain, dy[from:to], n.x[from:to], n.gain, inv, scale)
		}
	}
}

// products returns Σ y·gain·x of up to four rows. Every sum is computed in order, and four are interleaved to hide
// latency.
func products(y, x, gain []float32) (s [4]float32) {
	d := len(gain)
	if len(y) < 4*d {
		for r := 0; r*d < len(y); r++ {
			for i, g := range gain {
				s[r] += y[r*d+i] * g * x[r*d+i]
			}
		}

		return s
	}

	y0 := y[:d]
	y1 := y[d:][:d]
	y2 := y[2*d:][:d]
	y3 := y[3*d:][:d]
	x0 := x[:d]
	x1 := x[d:][:d]
	x2 := x[2*d:][:d]
	x3 := x[3*d:][:d]
	var s0, s1, s2, s3 float32
	for i, g := range gain {
		s0 += y0[i] * g * x0[i]
		s1 += y1[i] * g * x1[i]
		s2 += y2[i] * g * x2[i]
		s3 += y3[i] * g * x3[i]
	}

	return [4]float32{s0, s1, s2, s3}
}

// attentionBack adds the gradients through the attention of layer l to work.dqkv and to the gradients of the relation
// biases. work.do holds the gradient of the attention's output.
func (m *Model) attentionBack(a *acts, work *gradWork, lg layerView, l int, seqs []*seq) {
	d := m.Cfg.Dim
	heads := m.Cfg.Heads
	la := &a.layers[l]
	var probs [4][]float32
	var dbias [4][relAll]float32

	row := 0
	for i, s := range seqs {
		n := len(s.toks)
		lp := pad(n, 16)
		for first := 0; first < heads; first += 4 { // heads whose softmax is computed together
			group := min(4, heads-first)
			for g := range group {
				h := first + g
				probs[g] = la.probs[i*heads+h]
				do := work.do[row*d+h*headSize:]
				dv := work.dqkv[row*3*d+2*d+h*headSize:]
				work.vt = transpose(work.vt, la.qkv[row*3*d+2*d+h*headSize:], n, headSize, 3*d, lp)
				work.dprobs[g] = grow(work.dprobs[g], n*lp)
				for from := 0; from < n; from += causalRows {
					rows := min(causalRows, n-from)
					seen := min(from+causalRows, n)
					x := byRow(work.dprobs[g][from*lp:], lp)
					y := byRow(do[from*d:], d)
					later := byColumn(probs[g][from*lp+from:], lp)
					gemm(shape{rows, pad(seen, 16), headSize}, y, byRow(work.vt, lp), x, false)
					gemm(shape{rows, headSize, n - from}, later, y, byRow(dv[from*3*d:], 3*d), true)
				}
			}

			clear(dbias[:])
			softmaxBack(work.dprobs[:group], probs[:group], a.rel[i], dbias[:group], n, lp)

			for g := range group {
				h := first + g
				q := la.qkv[row*3*d+h*headSize:]
				dq := work.dqkv[row*3*d+h*headSize:]
				for from := 0; from < n; from += causalRows {
					rows := min(causalRows, n-from)
					x := work.dprobs[g][from*lp:]
					toQuery := byRow(dq[from*3*d:], 3*d)
					toKey := byRow(dq[from*3*d+d:], 3*d)
					gemm(shape{rows, headSize, from + rows}, byRow(x, lp), byRow(q[d:], 3*d), toQuery, true)
					gemm(shape{rows, headSize, n - from}, byColumn(x[from:], lp), byRow(q[from*3*d:], 3*d), toKey, true)
				}

				for p := 0; p < relPlaces; p++ {
					for k := 0; k < relKinds; k++ {
						lg.relPlace[p*heads+h] += dbias[g][p*relKinds+k]
						lg.relKind[k*heads+h] += dbias[g][p*relKinds+k]
					}
				}
			}
		}

		row += n
	}
}

// softmaxBack turns dL/dprobs of n queries into dL/d(raw scores) and adds to dL/dbias, for every head. The gradient
// through a softmax is dL/dsⱼ = pⱼ·(dL/dpⱼ − Σₖ pₖ·dL/dpₖ). Rows are lp values apart.
func softmaxBack(dp, p [][]float32, rel []uint8, dbias [][relAll]float32, n, lp int) {
	for i := range n {
		at := i * lp
		end := i*lp + i + 1
		row := rel[i*lp : i*lp+i+1]
		if len(dp) == 4 { // every sum is computed in order, and four are interleaved
			softmaxBack4(
				[4][]float32{dp[0][at:end], dp[1][at:end], dp[2][at:end], dp[3][at:end]},
				[4][]float32{p[0][at:end], p[1][at:end], p[2][at:end], p[3][at:end]}, row, (*[4][relAll]float32)(dbias))
		} else {
			for h := range dp {
				softmaxBack1(dp[h][at:end], p[h][at:end], row, &dbias[h])
			}
		}
		for h := range dp {
			clear(dp[h][end : (i+1)*lp])
		}
	}
}

func softmaxBack1(dp, p []float32, rel []uint8, dbias *[relAll]float32) {
	var s float32
	for j, v := range p {
		s += dp[j] * v
	}

	for j, v := range p {
		g := v * (dp[j] - s)
		dbias[rel[j]] += g
		dp[j] = g * attnScale
	}
}

func softmaxBack4(dp, p [4][]float32, rel []uint8, dbias *[4][relAll]float32) {
	n := len(rel)
	d0 := dp[0][:n]
	d1 := dp[1][:n]
	d2 := dp[2][:n]
	d3 := dp[3][:n]
	p0 := p[0][:n]
	p1 := p[1][:n]
	p2 := p[2][:n]
	p3 := p[3][:n]
	var s0, s1, s2, s3 float32
	for j := range n {
		s0 += d0[j] * p0[j]
		s1 += d1[j] * p1[j]
		s2 += d2[j] * p2[j]
		s3 += d3[j] * p3[j]
	}

	b0 := &dbias[0]
	b1 := &dbias[1]
	b2 := &dbias[2]
	b3 := &dbias[3]
	for j, r := range rel {
		g0 := p0[j] * (d0[j] - s0)
		g1 := p1[j] * (d1[j] - s1)
		g2 := p2[j] * (d2[j] - s2)
		g3 := p3[j] * (d3[j] - s3)
		b0[r] += g0
		b1[r] += g1
		b2[r] += g2
		b3[r] += g3
		d0[j] = g0 * attnScale
		d1[j] = g1 * attnScale
		d2[j] = g2 * attnScale
		d3[j] = g3 * attnScale
	}
}

// embedBack adds dx to the gradients of a token's embeddings.
func embedBack(g view, token Token, dx []float32) {
	d := len(dx)
	h1, h2 := token.buckets()

	for _, e := range [...][]float32{
		g.word1[h1*d:], g.word2[h2*d:], g.sec[int(token.Sec)*d:], g.line[int(token.Line)*d:],
		g.col[int(token.Col)*d:], g.flag[int(token.Flags)*d:], g.piece[int(token.Piece)*d:],
	} {
		addTo(e[:d], dx)
	}
}
