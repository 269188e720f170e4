'use strict';

const SORTS = {
  slot: ['slot', (r) => r.epoch * 1e6 + r.slot], length: ['longest first', (r) => -r.steps],
    cost: ['most expensive first', (r) => -(r.money || 0) * 1e9 - (r.tokens || 0)], // tokens where nothing has a price
  surprise: ['most surprising first', (r) => -(r.surprise || 0)],
};

const FLAGS = {
  against: ['critic against judge', (r) => r.against > 0], tie: ['ties', (r) => r.ties > 0],
  changed: ['changed by reading', (r) => r.changed > 0], invalid: ['invalid', (r) => r.invalid > 0 || r.unparsed > 0],
  refused: ['refused', (r) => r.refused > 0], void: ['void attempts', (r) => r.void > 0],
};

// selected returns the episodes that a query asks for, in its order. Answers are the texts of answers by epoch and slot,
// if they are searched, too.
function selected(rows, q, answers) {
  const text = (q.text || '').toLowerCase();
  const out = rows.filter((r) => (!q.epoch || r.epoch === Number(q.epoch)) && (!q.state || r.state === q.state) &&
    (!q.template || r.template === q.template) && (!q.agent || (r.wrong || [])[Number(q.agent)] > 0) &&
    Object.entries(FLAGS).every(([k, [, f]]) => !q[k] || f(r)) &&
    (!text || (r.goal + ' ' + r.template + ' ' + r.epoch + '/' + r.slot).toLowerCase().includes(text) ||
      answers?.get(r.epoch + '/' + r.slot)?.includes(text)));

  return out.sort(by((SORTS[q.sort] || SORTS.slot)[1]));
}

// openRows reports which epochs of a run have lines that can change: those of a committed one are read once more.
const settled = new Set();
const openRows = (doc) => (i) => {
  const path = doc.name + '/' + doc.epochs[i].number;
  const again = !settled.has(path);
  if (doc.epochs[i].committed) settled.add(path);

  return again;
};

// useRows returns the lines about all episodes of a run.
function useRows(doc, version) {
  const { docs, error } = useDocs(doc ? doc.epochs.map((e) => 'rows/' + doc.name + '/' + e.number) : [], version,
    openRows(doc));
  const rows = useMemo(() => docs && doc && docs.flatMap((list, i) => (list ||
    []).map((r) => ({ epoch: doc.epochs[i]?.number, ...r }))), [docs]);

  return { rows, error };
}

// useAnswers returns what agents answered, by epoch and slot in lower case, once it is wanted and there.
function useAnswers(doc, wanted) {
  const { docs, error } = useDocs(wanted ? doc.epochs.map((e) => 'answers/' + doc.name + '/' + e.number) : [], 0);
  const answers = useMemo(() => docs && wanted && new Map(docs.flatMap((texts, i) => Object.entries(texts)
    .map(([slot, text]) => [doc.epochs[i].number + '/' + slot, text.toLowerCase()]))), [docs, wanted]);

  return { answers: answers || undefined, error };
}

const wanted = { search: false }; // a key asked for the field before it was there

function Search({ value, placeholder, onText }) {
  const field = useRef(null);
  useEffect(() => {
    if (wanted.search) field.current.focus();
    wanted.search = false;
  }, []);

  return html`<label>search <input id="search" ref=${field} type="search" value=${value || ''}
    placeholder=${placeholder} onInput=${(e) => onText(e.target.value)} /></label>`;
}

function Filters({ rows, q, set, agents }) {
  const option = (v, name) => html`<option value=${v}>${name}</option>`;
  const choose = (key, name, options) => html`<label>${name} <select value=${q[key] || ''}
    onChange=${(e) => set({ ...q, [key]: e.target.value })}>
    ${option('', 'all')}${options.map(([v, n]) => option(v, n))}</select></label>`;
  const distinct = (f) => [...new Set(rows.map(f))].sort(by((x) => x)).map((x) => [x, String(x)]);

  return html`<form class="filters" role="search" onSubmit=${(e) => e.preventDefault()}>
    <${Search} value=${q.text} placeholder="goal, template, 2/17" onText=${(text) => set({ ...q, text })} />
    <label class="flag"><input type="checkbox" checked=${!!q.answers}
      onChange=${(e) => set({ ...q, answers: e.target.checked ? 1 : '' })} /> also in answers</label>
    ${choose('epoch', 'epoch', distinct((r) => r.epoch))}
    ${choose('state', 'state', distinct((r) => r.state))}
    ${choose('template', 'template', distinct((r) => r.template))}
    ${choose('agent', 'agent was wrong', Array.from({ length: agents }, (_, i) => [String(i), 'agent ' + i]))}
    <label>order <select value=${q.sort || 'slot'} onChange=${(e) => set({ ...q, sort: e.target.value })}>
      ${Object.entries(SORTS).map(([k, [n]]) => option(k, n))}</select></label>
    <fieldset><legend class="hidden">only episodes with</legend>${Object.entries(FLAGS).map(([k, [n]]) => html`
      <label class="flag"><input type="checkbox" checked=${!!q[k]}
        onChange=${(e) => set({ ...q, [k]: e.target.checked ? 1 : '' })} /> ${n}</label>`)}</fieldset>
  </form>`;
}

const ROW = 30; // height of a line, in pixels

const PRINTED = 1000; // lines of a list on paper

// usePaper reports whether the page is being printed.
function usePaper() {
  const media = matchMedia('print');
  const [paper, set] = useState(media.matches);
  useEffect(() => {
    const change = () => set(media.matches);
    const [before, after] = [() => set(true), () => set(false)];
    media.addEventListener('change', change);
    addEventListener('beforeprint', before);
    addEventListener('afterprint', after);

    return () => {
      media.removeEventListener('change', change);
      removeEventListener('beforeprint', before);
      removeEventListener('afterprint', after);
    };
  }, []);

  return paper;
}

// orderOf parses an order of lines: a key, and a minus before it if it is backwards.
const orderOf = (sort) => (sort.startsWith('-') ? [sort.slice(1), true] : [sort, false]);

// Lines draws of a long list only what can be seen. Columns are {name, width, of, title, narrow}; narrow is the width on
// a phone, which shows no others. Each line leads to a page, unless to is null. If onSort is given, the headings of
// columns with a key and by sort. A list that fits is only as high as its lines.
function Lines({ rows, columns, to, label, sort, onSort, fit }) {
  const paper = usePaper();
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const size = () => setHeight(box.current ? box.current.clientHeight : 600);
    if (paper) return undefined; // there it is as high as all lines
    size();
    addEventListener('resize', size);

    return () => removeEventListener('resize', size);
  }, [paper]);
  const first = paper ? 0 : Math.max(0, Math.floor(top / ROW) - 10);
  const last = Math.min(rows.length, paper ? PRINTED : Math.ceil((top + height) / ROW) + 10);
  const widths = columns.map((c) => c.width).join(' ');
  const narrow = columns.some((c) => c.narrow) ? columns.filter((c) => c.narrow).map((c) => c.narrow).join(' ') : widths;
  const least = sum(columns.map((c) => 8 + Number(/\d+/.exec(c.width)))) + 12;
  const order = sort && [columns.find((c) => c.key === orderOf(sort)[0])?.name, orderOf(sort)[1]];
  const kind = (c) => [c.num && 'num', c.narrow ? '' : 'wide-only'].filter(Boolean).join(' ');
  const turn = (c) => ([, back]) => onSort((back ? '-' : '') + c.key);

  return html`<div class=${'lines' + (fit ? ' fit' : '')} ref=${box} tabindex="0" onScroll=${(e) => setTop(e.target.scrollTop)} role="table"
    aria-label=${label} aria-rowcount=${rows.length + 1} style=${{ '--columns': widths, '--narrow': narrow, '--least': least + 'px' }}>
    <div class="line head" role="row">${columns.map((c) => html`<span role="columnheader" class=${kind(c)}
      aria-sort=${onSort ? sortOf(c, order) : undefined}>${onSort && c.by
        ? html`<${Head} c=${{ ...c, title: undefined }} order=${order} onOrder=${turn(c)} />`
        : html`${c.name}${c.ask && html`<${Ask} of=${c.ask} />`}`}</span>`)}</div>
    <div style=${{ height: rows.length * ROW + 'px', position: 'relative' }} role="rowgroup">
      ${rows.slice(first, last).map((r, i) => html`<div class="line place" role="row" key=${first + i}
        aria-rowindex=${first + i + 2} style=${{ top: (first + i) * ROW + 'px' }}>
        ${columns.map((c, k) => html`<span role="cell" dir="auto" class=${kind(c)} title=${c.title && c.title(r)}>
          ${k === 0 && to ? html`<a href=${to(r)}>${c.of(r)}</a>` : c.of(r)}</span>`)}</div>`)}
    </div>
  </div>${paper && last < rows.length && html`<p class="note">and ${whole(rows.length - last)} more</p>`}`;
}

// solvedShare is the share of solved episodes among those that have ended.
function solvedShare(rows) {
  const ended = rows.filter((r) => ENDED.includes(r.state));

  return ended.length ? percent(ended.filter((r) => r.state === 'solved').length / ended.length) : '–';
}

function EpisodesPage({ doc, query, version }) {
  const { rows, error } = useRows(doc, version);
  const set = useCallback((q) => go(['run', doc.name, 'episodes'], q, true), [doc.name]);
  const { answers, error: unread } = useAnswers(doc, query.answers && !doc.short);
  const list = useMemo(() => rows && selected([...rows], query, answers), [rows, answers, JSON.stringify(query)]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (!rows) return html`<${Wait} />`;
  const notes = (r) => [r.void && r.void + ' void', r.invalid && r.invalid + ' invalid', r.unparsed &&
    r.unparsed + ' unparsed', r.refused && r.refused + ' refused', r.cut && r.cut + ' cut',
    r.repaired && r.repaired + ' repaired',
    r.ties && r.ties + ' ties', r.changed && r.changed + ' changed', r.against && r.against + ' against the judge',
      r.why].filter(Boolean).join(', ');

  return html`<${Filters} rows=${rows} q=${query} set=${set} agents=${doc.spec.agents} />
    <p role="status">${whole(list.length)} of ${whole(rows.length)} episodes, ${solvedShare(list)} solved
      <${Save} name=${doc.name + '-episodes'} json=${() => list}
        csv=${() => [['epoch', 'slot', 'template', 'goal', 'state', 'steps', 'tokens', 'money', 'surprise', 'pairs'],
        ...list.map((r) => [r.epoch, r.slot, r.template, r.goal, r.state, r.steps, r.tokens || '', r.money || '',
          r.surprise || '', r.graded ? r.pairs || 0 : ''])]} /></p>
    ${doc.short && html`<${Short} />`}${unread && html`<${Trouble} error=${unread} />`}
    ${query.answers && query.text && !answers && !doc.short && !unread && html`<${Wait} />`}
    <${Lines} rows=${list} label="episodes"
      to=${doc.short ? null : (r) => href(['episode', doc.name, r.epoch, r.slot], query)} columns=${[
      { name: 'episode', width: '74px', narrow: '58px', of: (r) => r.epoch + '/' + r.slot },
      { name: 'state', width: '108px', narrow: '100px', of: (r) => html`<${State} value=${r.state} />` },
      { name: 'goal', width: 'minmax(160px, 3fr)', narrow: 'minmax(90px, 1fr)', of: (r) => r.goal, title: (r) => r.goal },
      { name: 'template', width: 'minmax(90px, 1fr)', of: (r) => r.template },
      { name: 'steps', width: '52px', of: (r) => r.steps },
      { name: 'labels + − ?', ask: '+', width: '110px', of: (r) => (r.graded ? r.labels.join(' ') : '') },
      { name: 'pairs', width: '52px', of: (r) => r.pairs || '' },
      { name: 'tokens', width: '70px', of: (r) => (r.tokens ? whole(r.tokens) : '–'),
        title: (r) => whole(r.tokens || 0) + ' tokens of agents, critic and adversary' + money(r.money) },
      { name: 'notes', width: 'minmax(60px, 2fr)', of: notes, title: notes }]} />`;
}
