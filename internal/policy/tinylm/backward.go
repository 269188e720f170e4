package tinylm

// gradWork is the scratch of one backward pass.
type gradWork struct {
	dx, dy, dqkv, do, dup []float32
	dprobs, vt            []float32
	wT                    [][4][]float32 // per layer: transposed qkv, out, up, down
}

// transposeWeights prepares the right-hand sides of the gradients of inputs. It has to run after every change of the
// parameters.
func (m *Model) transposeWeights(w *gradWork) {
	d, ff := m.Cfg.Dim, m.Cfg.FF
	if w.wT == nil {
		w.wT = make([][4][]float32, m.Cfg.Layers)
	}

	for l, v := range m.v.layers {
		t := &w.wT[l]
		t[0] = transpose(t[0], v.qkv, d, 3*d, 3*d)
		t[1] = transpose(t[1], v.out, d, d, d)
		t[2] = transpose(t[2], v.up, d, ff, ff)
		t[3] = transpose(t[3], v.down, ff, d, d)
	}
}

// transpose writes x (rows×cols, row stride ld) into out as cols×rows and returns out, grown if necessary.
func transpose(out, x []float32, rows, cols, ld int) []float32 {
	out = grow(out, rows*cols)
	for r := 0; r < rows; r++ {
		for c := 0; c < cols; c++ {
			out[c*rows+r] = x[r*ld+c]
		}
	}

	return out
}

// backward adds the gradients of one pass to g. dhid holds dL/d(hidden states) of all rows.
func (m *Model) backward(a *acts, w *gradWork, g view, seqs []*seq, dhid []float32) {
	d, ff, rows := m.Cfg.Dim, m.Cfg.FF, a.rows
	w.dx, w.dy = grow(w.dx, rows*d), grow(w.dy, rows*d)
	clear(w.dx)

	rmsNormBack(w.dx, dhid, a.x, m.v.norm, g.norm, a.rms, d)
	for l := len(a.layers) - 1; l >= 0; l-- {
		la, lw, lg := &a.layers[l], m.v.layers[l], g.layers[l]

		w.dup = grow(w.dup, rows*ff)
		gemm(rows, ff, d, w.dx, d, 1, w.wT[l][3], ff, w.dup, ff, false)
		gemm(ff, d, rows, la.up, 1, ff, w.dx, d, lg.down, d, true)
		for i, v := range la.up {
			if v <= 0 {
				w.dup[i] = 0
			}
		}

		gemm(d, ff, rows, la.b, 1, d, w.dup, ff, lg.up, ff, true)
		gemm(rows, d, ff, w.dup, ff, 1, w.wT[l][2], d, w.dy, d, false)
		rmsNormBack(w.dx, w.dy, la.x2, lw.norm2, lg.norm2, la.rms2, d)

		w.do = grow(w.do, rows*d)
		gemm(rows, d, d, w.dx, d, 1, w.wT[l][1], d, w.do, d, false)
		gemm(d, d, rows, la.o, 1, d, w.dx, d, lg.out, d, true)

		w.dqkv = grow(w.dqkv, rows*3*d)
		clear(w.dqkv)
		m.attentionBack(a, w, lg, l, seqs)
		gemm(d, 3*d, rows, la.a, 1, d, w.dqkv, 3*d, lg.qkv, 3*d, true)
		gemm(rows, d, 3*d, w.dqkv, 3*d, 1, w.wT[l][0], d, w.dy, d, false)
		rmsNormBack(w.dx, w.dy, la.x, lw.norm1, lg.norm1, la.rms1, d)
	}

	row := 0
	for _, s := range seqs {
		for _, t := range s.toks {
			embedBack(g, t, w.dx[row*d:(row+1)*d])
			row++
		}
	}
}

// rmsNormBack adds to dx and dgain the gradients through y = x·gain/rms(x) (Zhang & Sennrich, "Root Mean Square Layer
// Normalization", 2019). rms holds 1/rms of every row.
func rmsNormBack(dx, dy, x, gain, dgain, rms []float32, d int) {
	for r, inv := range rms {
		xr, dyr, dxr := x[r*d:(r+1)*d], dy[r*d:(r+1)*d], dx[r*d:(r+1)*d]
		var s float32
		for i, v := range dyr {
			s += v * gain[i] * xr[i]
			dgain[i] += v * xr[i] * inv
		}

		s *= inv * inv * inv / float32(d)
		for i, v := range dyr {
			dxr[i] += v*gain[i]*inv - xr[i]*s
		}
	}
}

// attentionBack adds to w.dqkv and to the gradients of the relation biases those through the attention of layer l; w.do
// holds the gradient of its output.
func (m *Model) attentionBack(a *acts, w *gradWork, lg layerView, l int, seqs []*seq) {
	d, heads := m.Cfg.Dim, m.Cfg.Heads
	la := &a.layers[l]

	dbias := make([]float32, relAll)
	row := 0
	for i, s := range seqs {
		n := len(s.toks)
		lp := pad(n, 16)
		for h := 0; h < heads; h++ {
			probs := la.probs[i*heads+h]
			do := w.do[row*d+h*headSize:]
			q, dq := la.qkv[row*3*d+h*headSize:], w.dqkv[row*3*d+h*headSize:]
			w.vt = grow(w.vt, headSize*lp)
			for r := 0; r < n; r++ {
				for c := 0; c < headSize; c++ {
					w.vt[c*lp+r] = q[r*3*d+2*d+c]
				}
			}

			w.dprobs = grow(w.dprobs, n*lp)
			gemm(n, lp, headSize, do, d, 1, w.vt, lp, w.dprobs, lp, false)
			gemm(n, headSize, n, probs, 1, lp, do, d, dq[2*d:], 3*d, true)

			clear(dbias)
			for r := 0; r < n; r++ {
				softmaxBack(w.dprobs[r*lp:(r+1)*lp], probs[r*lp:(r+1)*lp], a.rel[i][r*lp:], dbias, r)
			}

			gemm(n, headSize, n, w.dprobs, lp, 1, q[d:], 3*d, dq, 3*d, true)
			gemm(n, headSize, n, w.dprobs, 1, lp, q, 3*d, dq[d:], 3*d, true)

			for p := 0; p < relPlaces; p++ {
				for k := 0; k < relKinds; k++ {
					lg.relPlace[p*heads+h] += dbias[p*relKinds+k]
					lg.relKind[k*heads+h] += dbias[p*relKinds+k]
				}
			}
		}

		row += n
	}
}

// softmaxBack turns dL/dprobs of query i into dL/d(raw scores) and adds to dL/dbias. The gradient through a softmax is
// dL/dsⱼ = pⱼ·(dL/dpⱼ − Σₖ pₖ·dL/dpₖ).
func softmaxBack(dp, p []float32, rel []uint8, dbias []float32, i int) {
	var s float32
	for j := 0; j <= i; j++ {
		s += dp[j] * p[j]
	}

	for j := 0; j <= i; j++ {
		g := p[j] * (dp[j] - s)
		dbias[rel[j]] += g
		dp[j] = g * attnScale
	}

	clear(dp[i+1:])
}

// embedBack adds to the gradients of the embeddings of a token.
func embedBack(g view, t Token, dx []float32) {
	d := len(dx)
	h1, h2 := t.buckets()

	for _, e := range [...][]float32{
		g.word1[h1*d:], g.word2[h2*d:], g.sec[int(t.Sec)*d:], g.line[int(t.Line)*d:],
		g.col[int(t.Col)*d:], g.flag[int(t.Flags)*d:], g.piece[int(t.Piece)*d:],
	} {
		addTo(e[:d], dx)
	}
}
