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
  const search = query.answers && doc && !doc.short;
  const { doc: answers, error: unread } = useDoc(search ? 'evalanswers/' + run + '/' + id : '', 0);
  const text = (query.text || '').toLowerCase();
  const said = useMemo(() => search && answers && Object.fromEntries(Object.entries(answers)
    .map(([episode, texts]) => [episode, texts.toLowerCase()])), [answers, search]);
  const states = (r) => (r.void ? 'failed' : r.success ? 'solved' : 'not solved');
  const list = (rows || []).filter((r) => (!query.state || states(r) === query.state) &&
    ((r.template + ' ' + (r.goal || '')).toLowerCase().includes(text) || (said && said[r.n]?.includes(text))));
  const counted = list.filter((r) => !r.void); // as in the result
  const open = (m, s, c) => go(['evaluation', run, id, m, ...(s ? [s] : []), ...(c ? [c.join('.')] : [])], query,
    m === n);
  const here = list.findIndex((r) => r.n === Number(n));
  if (n && doc?.short) return html`<main id="main"><h1>${id}</h1><${Short} /></main>`;
  if (error || missing || unread || !rows || (n && !d)) {
    return html`<${Alone} name=${id} error=${error || missing || unread} />`;
  }

  return html`<main id="main" class="wide"><nav class="crumbs" aria-label="where this is">
    <a href=${href(['run', run])}>${run}</a> ›
      <a href=${href(['run', run, 'evaluations'])}>evaluations</a> › <a href=${href(['evaluation', run, id], query)}>
        ${doc ? sideName(doc, { id }) : id}</a>${n ? ' › episode ' + n : ''}</nav>
    ${n ? html`<${Episode} d=${d} system=${doc.system} number=${Number(number) || 1} chosen=${cellOf(place)}
      onOpen=${(s, c) => open(n, s, c)}
        onNeighbour=${(by) => here >= 0 && list[here + by] && open(String(list[here + by].n))} />`
      : html`<h1>${doc ? sideName(doc, { id }) : id}</h1><form class="filters" role="search" onSubmit=${(e) => e.preventDefault()}>
        <${Search} value=${query.text} placeholder="goal, template"
          onText=${(t) => go(['evaluation', run, id], { ...query, text: t }, true)} />
        ${!doc?.short && html`<label class="flag"><input type="checkbox" checked=${!!query.answers}
          onChange=${(e) => go(['evaluation', run, id], { ...query, answers: e.target.checked ? 1 : '' }, true)} />
          also in answers</label>`}
        <label>state <select value=${query.state || ''}
          onChange=${(e) => go(['evaluation', run, id], { ...query, state: e.target.value }, true)}>
          <option value="">all</option><option>solved</option><option>not solved</option><option>failed</option>
          </select></label></form>
        <p role="status">
          ${whole(list.length)} of ${whole(rows.length)} episodes, ${
            counted.length ? percent(counted.filter((r) => r.success).length / counted.length) : '–'} solved</p>
        ${doc?.short && html`<${Short} />`}
        <${Lines} rows=${list} label="evaluated episodes"
          to=${doc?.short ? null : (r) => href(['evaluation', run, id, r.n], query)} columns=${[
          { name: 'episode', width: '74px', narrow: '58px', of: (r) => r.n },
          { name: 'state', width: '120px', narrow: '100px', of: (r) => html`<${State} value=${r.void ? 'failed' : stateOf(r)} />` },
          { name: 'goal', width: 'minmax(160px, 3fr)', narrow: 'minmax(90px, 1fr)', of: (r) => r.goal || '' },
          { name: 'template', width: 'minmax(110px, 1fr)', of: (r) => r.template },
          { name: 'steps', width: '60px', of: (r) => r.steps },
          { name: 'tokens', width: '90px', of: (r) => (r.tokens ? whole(r.tokens) : '–') }]} />`}
  </main>`;
}

// kinds of paired episodes, by the successes of both.
const KINDS = { 'wrong→right': (a, b) => !a && b, 'right→wrong': (a, b) => a && !b, 'both right': (a, b) => a && b,
  'both wrong': (a, b) => !a && !b };

// together returns every episode of the first evaluation with those in which the others played the same task, as far as
// the first two have an outcome.
function together(docs) {
  const tasks = (rows) => { // by suite, template, split and seed; the same task may be played several times
    const times = {};

    return rows.map((r) => {
      const task = [r.suite, r.template, r.split, r.seed].join('\n');
      times[task] = (times[task] || 0) + 1;

      return [task + '\n' + times[task], r];
    });
  };
  const others = docs.slice(1).map((rows) => new Map(tasks(rows)));

  return tasks(docs[0]).map(([task, x]) => [x, ...others.map((m) => m.get(task))])
    .filter(([x, y]) => y && !x.void && !y.void);
}

const letter = (i) => String.fromCharCode(65 + i);

// ComparePage compares the evaluations a, b and those of the list more. Kinds of pairs are those of the first two.
function ComparePage({ index, query }) {
  const more = (query.more || '').split(',').filter(Boolean);
  const names = [query.a || '', query.b || '', ...more];
  const sides = names.map(named);
  const chosen = sides.every((s) => s.run && s.id);
  const { docs, error } = useDocs(chosen ? names.map(rowsOf) : [], 0);
  const { doc: home } = useDoc('home', 0);
  const { docs: runs } = useDocs(chosen ? sides.map((s) => 'run/' + s.run) : [], 0);
  const set = (q) => go(['compare'], { ...query, ...q }, true);
  const put = (i, v) => set({ n: '', step: '', ...(i === 0 ? { a: v } : i === 1 ? { b: v }
    : { more: more.map((m, k) => (k === i - 2 ? v : m)).join() }) });
  const found = (i, e) => e.id === sides[i].id;
  const called = (i) => {
    const e = (runs?.[i]?.evaluations || []).find((x) => found(i, x));

    const state = home?.runs.find((r) => r.name === sides[i].run)?.state;
    const unfinished = state && state !== 'finished' ? ' (' + (state === 'unknown' ? 'not finished' : state) + ')' : '';

    return letter(i) + ': ' + sides[i].run + unfinished + ', ' + (e ? evalName(e) : sides[i].id);
  };
  if (error) return html`<${Alone} name="Compare" error=${error} />`;
  const ready = chosen && docs?.length === names.length;
  const pairs = ready ? together(docs) : [];
  const count = (k) => pairs.filter(([x, y]) => KINDS[k](x.success, y.success)).length;
  const list = pairs.filter(([x, y]) => !KINDS[query.kind] || KINDS[query.kind](x.success, y.success));
  const n = Number(query.n) || 0;
  const at = list.findIndex(([x]) => x.n === n);
  const open = pairs.find(([x]) => x.n === n);
  const step = (by) => at >= 0 && list[at + by] && set({ n: list[at + by][0].n, step: '' });
  const rate = (i) => {
    const played = pairs.map((p) => p[i]).filter((r) => r && !r.void);

    return letter(i) + ' ' + (played.length ? percent(sum(played.map((r) => +r.success)) / played.length) : '–');
  };
  const lines = (runs || []).some((r) => r.short); // of a report without the episodes

  return html`<main id="main" class="wide"><h1>Compare</h1>
    ${!chosen && html`<${Presets} index=${index} named=${sides[0].run} />`}
    <form class="filters" onSubmit=${(e) => e.preventDefault()}>${names.map((name, i) => html`<${Choose} key=${i}
      index=${index} name=${letter(i)} value=${name} onChange=${(v) => put(i, v)} />${i > 1 && html`
      <button type="button" onClick=${() => set({ n: '', more: more.filter((_, k) => k !== i - 2).join() })}>
        without ${letter(i)}</button>`}`)}
      ${chosen && html`<button type="button" onClick=${() => set({ n: '', more: [...more, names.at(-1)].join() })}>
        one more</button>`}</form>
    ${chosen && !ready && html`<${Wait} />`}
    ${ready && html`<ul class="named">${names.map((_, i) => html`<li>${called(i)}</li>`)}</ul>
      <p role="group" aria-label="kinds of pairs" class="kinds">${Object.keys(KINDS).map((k) => html`
      <button type="button" aria-pressed=${query.kind === k}
        onClick=${() => set({ kind: query.kind === k ? '' : k, n: '' })}>${k}: ${count(k)}</button>`)}
      <span class="note">${pairs.length} paired episodes; ${names.map((_, i) => rate(i)).join(', ')} right${
        more.length > 0 ? '; kinds are those of A and B' : ''}</span></p>
      ${pairs.length === 0 && html`<p class="trouble">These evaluations did not play the same tasks.</p>`}
      ${lines && html`<${Short} />`}
      ${open && !lines && html`<${SideBySide} sides=${sides.map((s, i) => ({ ...s, n: open[i]?.n }))}
        step=${Number(query.step) || 0} onStep=${(s) => set({ step: s })} onNeighbour=${step} />`}
      ${n > 0 && !open && html`<p class="trouble">Episode ${n} of A has no pair.</p>`}
      ${(n === 0 || lines) && html`<${Lines} rows=${list} label="paired episodes"
        to=${lines ? null : ([x]) => href(['compare'], { ...query, n: x.n })}
        columns=${[
          { name: 'episode', width: '74px', narrow: '58px', of: ([x]) => x.n },
          ...names.map((_, i) => ({ name: letter(i), width: '120px', narrow: i < 2 ? '100px' : undefined,
            of: (p) => (p[i] ? html`<${State} value=${p[i].void ? 'failed' : stateOf(p[i])} />` : '–') })),
          { name: 'goal', width: 'minmax(160px, 3fr)', narrow: 'minmax(80px, 1fr)', of: ([x]) => x.goal || '' },
          { name: 'template', width: 'minmax(110px, 1fr)', of: ([x]) => x.template },
          { name: 'steps', width: '100px', of: (p) => p.map((r) => r?.steps ?? '–').join(' · ') }]} />`}`}
  </main>`;
}

// Choose offers the runs, and the evaluations of a run by split.
function Choose({ index, name, value, onChange }) {
  const { run, id } = named(value);
  const of = run || index.runs[0]?.name;
  const { doc } = useDoc(of ? 'run/' + of : '', 0);
  const all = doc ? doc.evaluations : [];
  const splits = [...new Set(all.map((e) => e.result.split))];

  return html`<fieldset class="side"><legend>${name}</legend><label>run <select value=${of}
    onChange=${(e) => onChange(e.target.value + '/')}>
    ${index.runs.map((r) => html`<option>${r.name}</option>`)}</select></label>
    <label class="of">evaluation <select value=${id} onChange=${(e) => onChange(of + '/' + e.target.value)}>
      <option value="">choose</option>${splits.map((split) => html`<optgroup label=${split}>${all
        .filter((e) => e.result.split === split).map((e) => html`<option value=${e.id}>${evalName(e)}</option>`)}
        </optgroup>`)}</select></label></fieldset>`;
}

// pairings returns what is worth comparing in a run: on each split, the system before and after stage 2, and with the
// run that it is a fork of.
function pairings(doc, home) {
  const evaluation = (system, split, epoch) => doc.evaluations.find((e) => e.result.system === system &&
    e.result.split === split && !e.result.environment && e.epoch >= 0 && (epoch === undefined || e.epoch === epoch));
  const n = doc.spec.agents;
  const newest = doc.status.best_epoch || undefined;
  const splits = [...new Set(doc.evaluations.map((e) => e.result.split))]
    .sort(by((split) => (split === 'val' ? '' : split)));
  const place = (e) => doc.name + '/' + e.id;
  const out = splits.flatMap((split) => {
    const before = evaluation('base-' + n, split, 0);
    const silent = evaluation('base-' + n + '-silent', split, 0);
    const after = evaluation('trained-' + n, split, newest) || evaluation('trained-' + n, split);

    return [before && after && { text: 'base against trained on ' + split, a: place(before), b: place(after) },
      silent && before && split === 'val' && { text: 'without against with messages on val', a: place(silent),
        b: place(before) }].filter(Boolean);
  });
  const me = home?.runs.find((r) => r.name === doc.name);
  const parent = me?.fork && home.runs.find((r) => r.name === me.fork.split('@')[0]);

  return [...out, ...(parent?.best && me.best ? [{ text: 'this run against its parent ' + parent.name + ' on val',
    a: parent.name + '/' + parent.best, b: me.name + '/' + me.best }] : [])];
}

// Presets explains the page while nothing is chosen, and offers what is worth comparing.
function Presets({ index, named: wanted }) {
  const { doc: home } = useDoc('home', 0);
  const newest = sorted(home?.runs || [], (r) => r.began, true);
  const run = wanted || (newest.find((r) => r.best && r.epoch > 0) || index.runs[0])?.name;
  const { doc } = useDoc(run ? 'run/' + run : '', 0);
  const all = doc ? pairings(doc, home) : [];
  const me = home?.runs.find((r) => r.name === run);
  const others = newest.filter((r) => r.best && r.name !== run && r.environment === me?.environment);

  return html`<section class="presets"><p>Two evaluations that played the same tasks, side by side: which episodes became
      right, which became wrong, and the first step in which the systems differ. Choose a pair, or A and B below.</p>
    <p><label>run <select value=${run} onChange=${(e) => go(['compare'], { a: e.target.value + '/' }, true)}>
      ${index.runs.map((r) => html`<option>${r.name}</option>`)}</select></label></p>
    <ul>${all.map((p) => html`<li><a href=${href(['compare'], { a: p.a, b: p.b })}>${p.text}</a></li>`)}
      ${me?.best && others.slice(0, 8).map((r) => html`<li><a href=${href(['compare'], { a: r.name + '/' + r.best,
        b: me.name + '/' + me.best })}>${r.name} against ${me.name}, each with its best epoch on val</a></li>`)}</ul>
    ${doc && all.length === 0 && html`<p class="note">${run} has no two evaluations of the same tasks yet.</p>`}
    </section>`;
}

// useSides returns evaluated episodes, each {run, id, n}, with their details and the pages of their runs.
function useSides(sides) {
  const { docs: runs, error } = useDocs(sides.map((s) => 'run/' + s.run), 0);
  const known = runs?.length === sides.length;
  const first = (s, i) => Math.floor((s.n - 1) / runs[i].chunk) * runs[i].chunk + 1;
  const { docs: all, error: missing } = useDocs(known
    ? sides.map((s, i) => ['evaluations', s.run, s.id, first(s, i)].join('/')) : [], 0);
  const ready = known && all?.length === sides.length;

  return { error: error || missing, all: ready && sides.map((s, i) => ({ ...s, doc: runs[i], d: all[i][s.n] })) };
}

// sideName is the name of a side's evaluation.
const sideName = (doc, side) => {
  const e = doc?.evaluations.find((x) => x.id === side.id);

  return e ? evalName(e) : side.id;
};

// SideBySide shows a paired episode, from the first step at which the systems differ. Sides are {run, id, n}; one that
// did not play the task has no n.
function SideBySide({ sides, step, onStep, onNeighbour }) {
  const { all, error } = useSides(sides.filter((s) => s.n));
  const [cells, choose] = useState({});
  const most = all ? Math.max(...all.map((x) => x.d.steps.length)) : 0;
  const differ = all ? Array.from({ length: most }, (_, i) => i).find((i) => new Set(all.map((x) =>
    x.d.steps[i]?.action.canonical)).size > 1) : undefined;
  const at = step || (differ === undefined ? 1 : differ + 1);
  useKeys({ ArrowRight: () => at < most && onStep(at + 1), ArrowLeft: () => at > 1 && onStep(at - 1),
    j: () => onNeighbour(1), k: () => onNeighbour(-1) });
  if (error) return html`<${Trouble} error=${error} />`;
  if (!all) return html`<${Wait} />`;
  let played = 0;

  return html`<section aria-label="side by side"><h2 dir="auto">${all[0].d.goal || all[0].d.template}</h2>
    <p>${differ === undefined ? (all.length === 2 ? 'Both' : 'All') + ' do the same.'
      : 'They differ first in step ' + (differ + 1) + '.'} <button
      type="button" disabled=${at <= 1} onClick=${() => onStep(at - 1)}>‹</button>
      ${' '}step ${at} of ${most} <button type="button" disabled=${at >= most}
        onClick=${() => onStep(at + 1)}>›</button></p>
    <div class="sides">${sides.map((side, i) => {
      const { d, doc } = side.n ? all[played++] : {};
      const s = d?.steps[at - 1];

      return html`<article><h3>${letter(i)}: ${side.run}, ${sideName(doc, side)} ${d && html`<${State} value=${d.state} />`}</h3>
        ${!d && html`<p class="note">It did not play this task.</p>`}
        ${d && !s && html`<p class="note">The episode had ended.</p>`}
        ${s && html`<${Screen} screen=${s.screen} image=${s.image} action=${s.action.type ? s.action : null} />
          <h4>executed: <span dir="auto">${s.action.words || 'nothing'}</span></h4>
          <${Matrix} d=${d} step=${s} chosen=${cells[i]} onChoose=${(c) => choose({ ...cells, [i]: c })} />
          ${cells[i] && html`<${CellPage} d=${d} step=${s} chosen=${cells[i]} system=${doc.system} />`}`}
        </article>`;
    })}</div></section>`;
}
