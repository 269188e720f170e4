'use strict';

// lasting writes a number of seconds as people do.
function lasting(s) {
  if (s === undefined) return '';
  if (s < 90) return Math.round(s) + ' s';
  if (s < 5400) return (s / 60).toFixed(1) + ' min';

  return s < 172800 ? (s / 3600).toFixed(1) + ' h' : (s / 86400).toFixed(1) + ' d';
}

const seconds = (from, to) => (from && to ? (new Date(to) - new Date(from)) / 1000 : undefined);

const OPEN = ['running', 'paused', 'stopping'];

const startOf = (r) => r.curve.find((p) => p.at === 0)?.rate;
const bestOf = (r) => (r.curve.length ? Math.max(...r.curve.map((p) => p.rate)) : undefined);
const lastedOf = (r) => seconds(r.began, r.ended || (OPEN.includes(r.state) ? new Date().toISOString() : undefined));
const labelsOf = (r) => Object.entries(r.labels || {}).map(([k, v]) => k + '=' + v).join(' ');
const textOfRun = (r) => [r.name, r.state, r.environment, r.who, r.fork, ...(r.lines || []), labelsOf(r)].join(' ')
  .toLowerCase();

// Spark draws the curve of a run on val, from 0 to 100 %.
function Spark({ curve }) {
  if (curve.length < 2) return null;
  const most = Math.max(...curve.map((p) => p.at));
  const at = (p) => (2 + (p.at / (most || 1)) * 66).toFixed(1) + ' ' + (20 - p.rate * 18).toFixed(1);

  return html`<svg class="spark" viewBox="0 0 70 22" role="img" aria-label=${'val by epoch: ' + curve.map((p) =>
    p.at + ' ' + percent(p.rate)).join(', ')}><path class="base" d="M2 20H68" /><path d=${'M' + curve.map(at).join('L')} />
    <circle cx=${at(curve.at(-1)).split(' ')[0]} cy=${at(curve.at(-1)).split(' ')[1]} r="2.2" /></svg>`;
}

// rates of splits in a list of {split, rate}.
const splitRate = (r, split) => (r.tests || []).find((t) => t.split === split)?.rate;

const share = (x) => (x === undefined ? '' : percent(x));

function runColumns(runs, costs, chosen, choose) {
  const splits = [...new Set(runs.flatMap((r) => (r.tests || []).map((t) => t.split)))].slice(0, 4);
  const used = (f) => runs.some((r) => f(r));
  const columns = [
    { key: 'name', name: 'name', width: 'minmax(96px, 2fr)', narrow: 'minmax(90px, 1fr)', by: (r) => r.name,
      of: (r) => r.name, title: (r) => r.name, ask: 'run' },
    { key: 'state', name: 'state', width: '104px', narrow: '104px', by: (r) => r.state, title: (r) => r.reason, ask: 'state',
      of: (r) => html`<span class=${'status ' + r.state}>${r.state}</span>${r.state === 'finished' ? ''
        : ' ' + r.epoch + '/' + r.epochs}` },
    { key: 'environment', name: 'environment', width: 'minmax(92px, 1fr)', by: (r) => r.environment,
      of: (r) => r.environment, title: (r) => r.environment },
    { key: 'agents', name: 'agents', width: '80px', by: (r) => r.agents, of: (r) => r.agents, num: true, ask: 'agents' },
    { key: 'start', name: 'val, start', width: '98px', by: startOf, of: (r) => share(startOf(r)), num: true, ask: 'val' },
    { key: 'best', name: 'best', width: '74px', narrow: '74px', by: bestOf, of: (r) => share(bestOf(r)), num: true,
      ask: 'best' },
    { key: 'curve', name: 'by epoch', width: '78px', by: (r) => (startOf(r) === undefined ? undefined
      : bestOf(r) - startOf(r)), of: (r) => html`<${Spark} curve=${r.curve} />`, num: true },
    ...splits.map((split) => ({ key: split, name: split.replace(/^test-/, ''), width: '100px', num: true,
      by: (r) => splitRate(r, split), of: (r) => share(splitRate(r, split)), ask: TERMS[split] ? split : 'test' })),
    { key: 'epochs', name: 'epochs', width: '82px', by: (r) => r.epoch, of: (r) => r.epoch, num: true, ask: 'epoch' },
    used((r) => costs?.[r.name]) && { key: 'cost', name: 'cost', width: '76px', num: true, ask: 'cost',
      by: (r) => costs?.[r.name]?.money || undefined, of: (r) => (costs?.[r.name]?.money
        ? costs[r.name].money.toFixed(2) : '') },
    used((r) => r.began) && { key: 'began', name: 'start', width: '136px', by: (r) => r.began, of: (r) => day(r.began),
      num: true },
    used((r) => r.began) && { key: 'duration', name: 'duration', width: '98px', by: lastedOf,
      of: (r) => lasting(lastedOf(r)), num: true, ask: 'duration' },
    used((r) => r.who) && { key: 'who', name: 'who', width: 'minmax(64px, 1fr)', by: (r) => r.who, of: (r) => r.who || '',
      title: (r) => r.who, ask: 'who' },
    used((r) => r.fork) && { key: 'fork', name: 'fork of', width: 'minmax(60px, 1fr)', by: (r) => r.fork,
      of: (r) => r.fork || '', title: (r) => r.fork, ask: 'fork' },
    used((r) => r.lines) && { key: 'line', name: 'line', width: 'minmax(60px, 1fr)', by: (r) => r.lines?.join(' '),
      of: (r) => (r.lines || []).join(' '), ask: 'line' },
    used((r) => r.labels) && { key: 'tags', name: 'tags', width: 'minmax(60px, 1fr)', by: labelsOf, of: labelsOf,
      title: labelsOf },
  ].filter(Boolean);
  const box = { key: 'choose', name: '', width: '22px', narrow: '22px', of: (r) => html`<input type="checkbox" class="choose"
    aria-label=${'compare ' + r.name} checked=${chosen.includes(r.name)} onChange=${() => choose(r.name)} />` };

  return [columns[0], box, ...columns.slice(1)];
}

// chosenRuns returns the address of the comparison of runs, each with its best epoch on val.
function comparison(runs) {
  const [a, b, ...more] = runs.filter((r) => r.best).map((r) => r.name + '/' + r.best);

  return b && href(['compare'], { a, b, more: more.join() });
}

function Home({ index, query, version }) {
  const { doc, error } = useDoc('home', version);
  const { doc: costs } = useDoc(doc ? 'costs' : '', version);
  const set = (q) => go([], { ...query, ...q }, true);
  const runs = doc?.runs || [];
  const chosen = (query.chosen || '').split(',').filter(Boolean);
  const choose = (name) => set({ chosen: (chosen.includes(name) ? chosen.filter((x) => x !== name)
    : [...chosen, name]).join() });
  const columns = useMemo(() => runColumns(runs, costs, chosen, choose), [doc, costs, location.hash]);
  const list = useMemo(() => {
    const text = (query.text || '').toLowerCase();
    const found = runs.filter((r) => (!query.state || r.state === query.state) &&
      (!query.environment || r.environment === query.environment) && (!query.tag || labelsOf(r).split(' ')
      .includes(query.tag)) && textOfRun(r).includes(text));
    const [key, back] = orderOf(query.sort || '-began');
    const column = columns.find((c) => c.key === key);

    return column?.by ? sorted(found, (r) => (column.by(r) === '' ? undefined : column.by(r)), back) : found;
  }, [columns, query.text, query.state, query.environment, query.tag, query.sort]);
  if (error || !doc) return html`<${Alone} name=${index.title} error=${error} />`;
  const distinct = (f) => [...new Set(runs.flatMap(f))].filter(Boolean).sort();
  const choice = (key, options) => options.length > 1 && html`<label>${key} <select value=${query[key] || ''}
    onChange=${(e) => set({ [key]: e.target.value })}><option value="">all</option>${options.map((o) => html`
    <option>${o}</option>`)}</select></label>`;
  const both = comparison(runs.filter((r) => chosen.includes(r.name)));

  return html`<main id="main" class="wide"><h1>${index.title}</h1>
    ${runs.length > 0 && html`<form class="filters" role="search" onSubmit=${(e) => e.preventDefault()}>
      <${Search} value=${query.text} placeholder="name, environment, who, tag" onText=${(text) => set({ text })} />
      ${choice('state', distinct((r) => [r.state]))}${choice('environment', distinct((r) => [r.environment]))}
      ${choice('tag', distinct((r) => labelsOf(r).split(' ')))}</form>
      <p role="status">${whole(list.length)} of ${whole(runs.length)} runs${' '}
        ${both ? html`<a class="button" href=${both}>compare the ${chosen.length} chosen</a>`
          : html`<span class="note">tick two runs to compare them</span>`}
        <${Save} name="runs" json=${() => list} csv=${() => [columns.filter((c) => c.by).map((c) => c.name),
          ...list.map((r) => columns.filter((c) => c.by).map((c) => c.by(r) ?? ''))]} /></p>
      <${Lines} rows=${list} label="runs" fit columns=${columns} to=${(r) => href(['run', r.name])}
        sort=${query.sort || '-began'} onSort=${(sort) => set({ sort })} />`}
    <${Experiments} rows=${doc.experiments} /><${SystemLines} rows=${doc.lines} /><${Schedules} rows=${doc.schedules} />
    ${runs.length + doc.experiments.length + doc.lines.length + doc.schedules.length === 0 && html`<p>The store has no
      runs. <code>collabui train examples/quickstart.yaml</code> makes one.</p>`}</main>`;
}

function Experiments({ rows }) {
  return rows.length > 0 && html`<${Table} caption="Experiments" file="experiments" rows=${rows} columns=${[
    { name: 'name', of: (x) => html`<a href=${href(['experiment', x.name])}>${x.name}</a>`, csv: (x) => x.name },
    { name: 'about', of: (x) => x.about }, { name: 'arms', num: true, of: (x) => x.arms },
    { name: 'seeds', num: true, of: (x) => x.seeds }, { name: 'version', num: true, of: (x) => x.version },
    { name: 'claims', ask: 'claim', of: (x) => (x.tested ? x.hold + ' of ' + x.claims + ' hold' +
      (x.tested < x.version ? ' (version ' + x.tested + ')' : '') : 'no result yet') },
    { name: 'who', of: (x) => x.who }, { name: 'declared', of: (x) => day(x.at) }]} />`;
}

function SystemLines({ rows }) {
  const splits = [...new Set(rows.flatMap((x) => (x.tests || []).map((t) => t.split)))];

  return rows.length > 0 && html`<${Table} caption="Lines" ask="line" file="lines" rows=${rows} columns=${[
    { name: 'name', of: (x) => html`<a href=${href(['line', x.name])}>${x.name}</a>`, csv: (x) => x.name },
    { name: 'accepts', of: (x) => (x.run ? html`<a href=${href(['run', x.run])}>${x.run}@${x.epoch || 0}</a>`
      : 'nothing'), csv: (x) => (x.run ? x.run + '@' + (x.epoch || 0) : '') },
    { name: 'val', num: true, ask: 'val', of: (x) => share(x.val) },
    ...splits.map((split) => ({ name: split, num: true, ask: TERMS[split] ? split : 'test',
      of: (x) => share(splitRate(x, split)) })),
    { name: 'entries', num: true, of: (x) => x.entries }, { name: 'since', of: (x) => day(x.at) },
    { name: 'who', of: (x) => x.who || '' }, { name: 'why', of: (x) => x.why || '' }]} />`;
}

function Schedules({ rows }) {
  return rows.length > 0 && html`<${Table} caption="Schedules" ask="schedule" file="schedules" rows=${rows} columns=${[
    { name: 'name', of: (x) => x.name },
    { name: 'line', of: (x) => html`<a href=${href(['line', x.line])}>${x.line}</a>`, csv: (x) => x.line },
    { name: 'environment', of: (x) => x.environment }, { name: 'when', of: (x) => x.when },
    { name: 'last outcome', of: (x) => x.outcome || 'has not fired yet' },
    { name: 'run', of: (x) => (x.run ? html`<a href=${href(['run', x.run])}>${x.run}</a>` : ''), csv: (x) => x.run },
    { name: 'at', of: (x) => day(x.at) }, { name: 'why', of: (x) => x.why || '' },
    { name: 'who', of: (x) => x.who }]} />`;
}
