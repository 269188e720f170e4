'use strict';

// An evaluation is named RUN/FOLDER/SYSTEM/SPLIT.
const named = (name) => {
  const [run, ...id] = (name || '').split('/');

  return { run, id: id.join('/') };
};

const stateOf = (r) => (r.success ? 'solved' : 'not solved');

const rowsOf = (name) => 'evalrows/' + name;

function useEvaluated(run, id, n, version) {
  const { doc } = useDoc(run ? 'run/' + run : '', 0);
  const first = doc ? Math.floor((n - 1) / doc.chunk) * doc.chunk + 1 : 1;
  const { doc: all, error } = useDoc(doc && n ? ['evaluations', run, id, first].join('/') : '', version);

  return { doc, d: all && all[n], error };
}

function EvaluationPage({ parts, query }) {
  const [, run, id, n, number, place] = parts;
  const { doc: rows, error } = useDoc(rowsOf(run + '/' + id), 0);
  const { doc, d, error: missing } = useEvaluated(run, id, Number(n) || 0, 0);
  const text = (query.text || '').toLowerCase();
  const list = (rows || []).filter((r) => (!query.state || r.success === (query.state === 'solved')) &&
    (r.template + ' ' + (r.goal || '')).toLowerCase().includes(text));
  const open = (m, s, c) => go(['evaluation', run, id, m, ...(s ? [s] : []), ...(c ? [c.join('.')] : [])], query,
    m === n);
  const here = list.findIndex((r) => r.n === Number(n));
  if (error || missing || !rows || (n && !d)) return html`<${Alone} name=${id} error=${error || missing} />`;

  return html`<main id="main" class="wide"><nav class="crumbs" aria-label="where this is">
    <a href=${href(['run', run])}>${run}</a> ›
      <a href=${href(['run', run, 'evaluations'])}>evaluations</a> › <a href=${href(['evaluation', run, id], query)}>
        ${id}</a>${n ? ' › episode ' + n : ''}</nav>
    ${n ? html`<${Episode} d=${d} system=${doc.system} number=${Number(number) || 1} chosen=${cellOf(place)}
      onOpen=${(s, c) => open(n, s, c)}
        onNeighbour=${(by) => here >= 0 && list[here + by] && open(String(list[here + by].n))} />`
      : html`<h1>${id}</h1><form class="filters" role="search" onSubmit=${(e) => e.preventDefault()}>
        <${Search} value=${query.text} onText=${(t) => go(['evaluation', run, id], { ...query, text: t }, true)} />
        <label>state <select value=${query.state || ''}
          onChange=${(e) => go(['evaluation', run, id], { ...query, state: e.target.value }, true)}>
          <option value="">all</option><option>solved</option><option>not solved</option></select></label></form>
        <p role="status">
          ${whole(list.length)} of ${whole(rows.length)} episodes, ${
            list.length ? percent(list.filter((r) => r.success).length / list.length) : '–'} solved</p>
        <${Lines} rows=${list} label="evaluated episodes"
          to=${(r) => href(['evaluation', run, id, r.n], query)} columns=${[
          { name: 'episode', width: '74px', of: (r) => r.n },
          { name: 'state', width: '120px', of: (r) => html`<${State} value=${r.void ? 'failed' : stateOf(r)} />` },
          { name: 'goal', width: 'minmax(160px, 3fr)', of: (r) => r.goal || '' },
          { name: 'template', width: 'minmax(110px, 1fr)', of: (r) => r.template },
          { name: 'steps', width: '60px', of: (r) => r.steps },
          { name: 'tokens', width: '90px', of: (r) => whole(r.tokens || 0) }]} />`}
  </main>`;
}

// kinds of paired episodes, by the successes of both.
const KINDS = { 'wrong→right': (a, b) => !a && b, 'right→wrong': (a, b) => a && !b, 'both right': (a, b) => a && b,
  'both wrong': (a, b) => !a && !b };

function ComparePage({ index, query }) {
  const [a, b] = [named(query.a), named(query.b)];
  const { docs, error } = useDocs(query.a && query.b ? [rowsOf(query.a), rowsOf(query.b)] : [], 0);
  const set = (q) => go(['compare'], { ...query, ...q }, true);
  if (error) return html`<${Alone} name="Compare" error=${error} />`;
  const pairs = docs && docs[1] ? docs[0].map((x, i) => [x, docs[1][i]]).filter(([x, y]) => y &&
    x.template === y.template && !x.void && !y.void) : [];
  const count = (k) => pairs.filter(([x, y]) => KINDS[k](x.success, y.success)).length;
  const list = pairs.filter(([x, y]) => !KINDS[query.kind] || KINDS[query.kind](x.success, y.success));
  const n = Number(query.n) || 0;
  const at = list.findIndex(([x]) => x.n === n);
  const step = (by) => at >= 0 && list[at + by] && set({ n: list[at + by][0].n, step: '' });

  return html`<main id="main" class="wide"><h1>Compare</h1>
    <form class="filters" onSubmit=${(e) => e.preventDefault()}><${Choose} index=${index} name="A" value=${query.a}
      onChange=${(v) => set({ a: v, n: '', step: '' })} />
      <${Choose} index=${index} name="B" value=${query.b} onChange=${(v) => set({ b: v, n: '', step: '' })} /></form>
    ${docs && html`<p role="group" aria-label="kinds of pairs" class="kinds">${Object.keys(KINDS).map((k) => html`
      <button type="button" aria-pressed=${query.kind === k}
        onClick=${() => set({ kind: query.kind === k ? '' : k, n: '' })}>${k}: ${count(k)}</button>`)}
      <span class="note">
        ${pairs.length} paired episodes; A ${percent(sum(pairs.map(([x]) => +x.success)) / (pairs.length ||
          1))}, B ${percent(sum(pairs.map(([, y]) => +y.success)) / (pairs.length || 1))} right</span></p>
      ${pairs.length === 0 && html`<p class="trouble">These evaluations did not play the same tasks.</p>`}
      ${n > 0 && html`<${SideBySide} a=${a} b=${b} n=${n} step=${Number(query.step) || 0}
        onStep=${(s) => set({ step: s })} onNeighbour=${step} />`}
      ${n === 0 && html`<${Lines} rows=${list} label="paired episodes"
        to=${([x]) => href(['compare'], { ...query, n: x.n })}
        columns=${[
          { name: 'episode', width: '74px', of: ([x]) => x.n },
          { name: 'A', width: '120px', of: ([x]) => html`<${State} value=${stateOf(x)} />` },
          { name: 'B', width: '120px', of: ([, y]) => html`<${State} value=${stateOf(y)} />` },
          { name: 'goal', width: 'minmax(160px, 3fr)', of: ([x]) => x.goal || '' },
          { name: 'template', width: 'minmax(110px, 1fr)', of: ([x]) => x.template },
          { name: 'steps', width: '70px', of: ([x, y]) => x.steps + ' · ' + y.steps }]} />`}`}
  </main>`;
}

// Choose offers the evaluations of a run.
function Choose({ index, name, value, onChange }) {
  const { run, id } = named(value);
  const of = run || index.runs[0]?.name;
  const { doc } = useDoc(of ? 'run/' + of : '', 0);

  return html`<label>${name} <select value=${of} onChange=${(e) => onChange(e.target.value + '/')}>
    ${index.runs.map((r) => html`<option>${r.name}</option>`)}</select></label>
    <label class="of">of ${name} <select value=${id} onChange=${(e) => onChange(of + '/' + e.target.value)}>
      <option value="">choose</option>
      ${(doc ? doc.evaluations : []).map((e) => html`<option>${e.id}</option>`)}</select></label>`;
}

// SideBySide shows a paired episode, from the first step at which the systems differ.
function SideBySide({ a, b, n, step, onStep, onNeighbour }) {
  const x = useEvaluated(a.run, a.id, n, 0);
  const y = useEvaluated(b.run, b.id, n, 0);
  const [cells, choose] = useState([null, null]);
  const ready = x.d && y.d;
  const most = ready ? Math.max(x.d.steps.length, y.d.steps.length) : 0;
  const differ = ready ? Array.from({ length: most }, (_,
    i) => i).find((i) => x.d.steps[i]?.action.canonical !== y.d.steps[i]?.action.canonical) : undefined;
  const at = step || (differ === undefined ? 1 : differ + 1);
  useKeys({ ArrowRight: () => at < most && onStep(at + 1), ArrowLeft: () => at > 1 && onStep(at - 1),
    j: () => onNeighbour(1), k: () => onNeighbour(-1) });
  if (x.error || y.error) return html`<${Trouble} error=${x.error || y.error} />`;
  if (!ready) return html`<${Wait} />`;

  return html`<section aria-label="side by side"><h2 dir="auto">${x.d.goal || x.d.template}</h2>
    <p>${differ === undefined ? 'Both do the same.' : 'They differ first in step ' + (differ + 1) + '.'} <button
      type="button" disabled=${at <= 1} onClick=${() => onStep(at - 1)}>‹</button>
      ${' '}step ${at} of ${most} <button type="button" disabled=${at >= most}
        onClick=${() => onStep(at + 1)}>›</button></p>
    <div class="sides">${[[a, x], [b, y]].map(([name, side], i) => {
      const s = side.d.steps[at - 1];

      return html`<article><h3>${i ? 'B' : 'A'}: ${name.run} ${name.id} <${State} value=${side.d.state} /></h3>
        ${!s && html`<p class="note">The episode had ended.</p>`}
        ${s && html`<${Screen} screen=${s.screen} image=${s.image} action=${s.action.type ? s.action : null} />
          <h4>executed: <span dir="auto">${s.action.words || 'nothing'}</span></h4>
          <${Matrix} d=${side.d} step=${s} chosen=${cells[i]}
            onChoose=${(c) => choose(i ? [cells[0], c] : [c, cells[1]])} />
          ${cells[i] && html`<${CellPage} d=${side.d} step=${s} chosen=${cells[i]} system=${side.doc.system} />`}`}
            </article>`;
    })}</div></section>`;
}
