'use strict';

const TABS = [['', 'Overview'], ['episodes', 'Episodes'], ['evaluations', 'Evaluations'], ['updates', 'Updates'],
  ['data', 'Data'], ['specification', 'Specification']];
const SPOKEN = [['messages', 'Messages']]; // of runs whose agents may speak

function RunPage({ index, run, tab, query, version }) {
  const { doc, error } = useDoc('run/' + run, version);
  if (error || !doc) return html`<${Alone} name=${run} error=${error} />`;
  const s = doc.status;
  const pages = { '': Overview, episodes: EpisodesPage, evaluations: Evaluations, updates: Updates, data: DataPage,
    specification: Specification, messages: MessagesPage };
  const Page = pages[tab || ''];
  const tabs = doc.spec.speech ? [...TABS.slice(0, 2), ...SPOKEN, ...TABS.slice(2)] : TABS;

  return html`<main id="main">
    <h1>${run} <span class=${'status ' + s.status}>${s.status}</span></h1>
    <${Headline} doc=${doc} />
    <p class="lead">${[doc.spec.environment, doc.spec.agents + ' agents', 'critic ' + s.critic, doc.began && 'began ' +
      day(doc.began), doc.who && 'by ' + doc.who].filter(Boolean).join(' · ')}
      ${s.reason && html` · <strong>${s.reason}</strong>`}
      ${s.warning && html` · <strong>${s.warning}</strong>`}
      ${index.temporal && html` · <a
        href=${'temporal/' + encodeURIComponent(run)}
        referrerpolicy="origin">in the Temporal UI</a>`}
    </p>
    <nav class="tabs" aria-label="pages of the run">${tabs.map(([t, name]) => html`
      <a href=${href(['run', run, t].filter(Boolean))} aria-current=${(tab || '') === t ? 'page' : undefined}>${name}
        </a>`)}
    </nav>
    ${Page ? html`<${Page} index=${index} doc=${doc} query=${query}
      version=${version} />` : html`<p>There is no such page.</p>`}
  </main>`;
}

function Changes({ s }) {
  if (!s.changes || s.changes.length === 0) return null;
  const what = (c) => [c.verb, ...Object.entries(c.values || {}).map(([k, v]) => k + '=' + v),
    ...(c.cells || []).map((x) => 'label ' + [x.slot, x.step, x.agent, x.round].join('/') + '=' + x.label)].join(' ');

  return html`<${Table} caption="Changes by people" columns=${[
    { name: 'when', of: (c) => day(c.at) }, { name: 'who', of: (c) => c.who }, { name: 'what', of: what },
    { name: 'why', of: (c) => (c.link ? html`<a href=${safe(c.link)}>${c.why || c.link}</a>` : c.why || ''),
      csv: (c) => c.why || '' }]} rows=${s.changes} />`;
}

function Lineage({ doc }) {
  if (doc.lineage.length === 0) return null;

  return html`<section><h2>Where the system comes from</h2><ol class="lineage">${doc.lineage.map((x) => html`
    <li class=${x.kind.replace(' ', '-')}>${x.text}${x.digest && html` <code>${short(x.digest)}</code>`}</li>`)}</ol>
      </section>`;
}

function Evaluations({ doc }) {
  const rows = doc.evaluations;
  if (rows.length === 0) return html`<p>Nothing has been evaluated yet.</p>`;
  const chunk = (e) => /^chunk-/.test(e.result.system);
  // Systems after an epoch are compared with the same number of agents before it, or else with what played the same.
  const pair = (e) => {
    const alike = rows.filter((o) => o.id !== e.id && o.result.split === e.result.split &&
      o.result.episodes === e.result.episodes && !chunk(o));

    return chunk(e) ? undefined : alike.find((o) => o.epoch === 0 && o.result.system ===
      e.result.system.replace('trained', 'base')) || alike[0];
  };
  const columns = [
    { name: 'evaluation', of: (e) => html`<a href=${href(['evaluation', doc.name, e.id])} title=${e.id}>${evalName(e)}
      </a>`, csv: (e) => e.id, by: (e) => e.id },
    { name: 'split', ask: 'test', of: (e) => e.result.split },
    { name: 'after epoch', num: true, of: (e) => (e.epoch < 0 ? '' : e.epoch) },
    { name: 'right', num: true, of: (e) => e.result.successes + ' of ' + e.result.episodes },
    { name: 'rate', num: true, of: (e) => rateOf(e.result) },
    { name: '95 % interval', num: true, ask: 'Wilson interval', of: (e) => intervalOf(e.result) },
    ...costColumns((e) => e.result),
    { name: 'compare', of: (e) => pair(e) && html`<a
      href=${href(['compare'], { a: doc.name + '/' + pair(e).id, b: doc.name + '/' + e.id })}>
      with ${evalName(pair(e))}</a>`, csv: () => '' },
  ];

  return html`<${Table} caption="Evaluations" file=${doc.name + '-evaluations'} columns=${columns} rows=${rows} />`;
}

function Updates({ doc }) {
  const rows = doc.epochs.flatMap((e) => e.updates.map((u) => ({ epoch: e.number, ...u })));
  const p = (f) => (u) => (measured(u.probe) ? f(u.probe) : '–');
  const change = (l) => (l ? l.policy.toFixed(2) + ' (' + nats(l.policy - l.parent) + ')' : '–');
  const columns = [
    { name: 'epoch', num: true, of: (u) => u.epoch }, { name: 'agent', num: true, of: (u) => u.agent },
    { name: 'pairs', num: true, of: (u) => whole(u.rows) },
    { name: 'rows left out', num: true, optional: true, ask: 'rows left out', title: 'by people', of: (u) => (u.without || []).join(', ') },
    { name: 'steps', num: true, of: (u) => u.steps },
    { name: 'loss', num: true, ask: 'loss', of: (u) => (u.curve?.length ? u.curve.at(-1).loss.toFixed(3) : '–') },
    { name: 'log π(chosen)', num: true, ask: 'log π',
      of: p((x) => change(x.chosen)) },
    { name: 'log π(rejected)', num: true, ask: 'log π',
      of: p((x) => change(x.rejected)) },
    { name: 'entropy', num: true, ask: 'entropy', of: p((x) => x.entropy.toFixed(2)) }, { name: 'KL', num: true, ask: 'KL',
      of: p((x) => x.kl.toFixed(2)) },
    { name: 'parse rate', num: true, ask: 'parse rate', of: (u) => (u.probe.prompts ? percent(u.probe.parse_rate) : '–') },
    { name: 'displaced', num: true, ask: 'displaced', of: p((x) => (x.rejected ? (x.displaced ?? 0).toFixed(3) : '–')),
      title: 'probability that went to neither the chosen nor the rejected answer, against the parent' },
    { name: 'train-serve gap', num: true, ask: 'train-serve gap', of: (u) => gapText(u.train_serve_gap) },
    { name: 'rollout gap', num: true, ask: 'rollout gap', of: (u) => gapText(u.rollout_gap) },
    { name: 'gate', ask: 'gate',
      of: (u) => (u.kept ? 'parent kept: ' + u.kept : 'taken') +
        (u.probe.unknown ? ' · not probed: ' + u.probe.unknown : '') },
    { name: 'policy', of: (u) => html`<code title=${u.policy}>${short(u.policy)}</code>`, csv: (u) => u.policy },
  ];
  const curves = (agent) => doc.epochs.map((e) => ({ name: 'epoch ' + e.number,
    points: (e.updates.find((u) => u.agent === agent)?.curve || []).map((c) => ({ x: c.step, y: c.loss })) }));

  return html`<${Table} caption="Updates: nats per answer, change against the parent in brackets" ask="nats"
    file=${doc.name + '-updates'} columns=${columns} rows=${rows} />
    <${Sources} name=${doc.name} rows=${rows} />
    <div class="charts">${Array.from({ length: doc.spec.agents }, (_, agent) => html`<${Chart}
      name=${doc.name + '-loss-' + agent}
      title=${'Loss of agent ' + agent} ask="loss" x="optimiser step" series=${curves(agent)} />`)}</div>`;
}

const gapText = (g) => (g?.answers ? g.mean.toPrecision(2) : g?.unknown || '');

// Sources are what the probes of updates found of the pairs of each source.
function Sources({ name, rows }) {
  const lines = rows.filter((u) => measured(u.probe))
    .flatMap((u) => Object.entries(u.probe.by_source || {}).map(([source, s]) => ({ ...u, source, s })));
  if (lines.length === 0) return null;
  const change = (l) => nats(l.policy - l.parent);

  return html`<details><summary>Probes by source of the pairs (${lines.length})</summary><${Table}
    caption="Change of log π against the parent, in nats" file=${name + '-sources'} rows=${lines} columns=${[
    { name: 'epoch', num: true, of: (u) => u.epoch }, { name: 'agent', num: true, of: (u) => u.agent },
    { name: 'source', ask: 'source', of: (u) => u.source }, { name: 'pairs probed', num: true, of: (u) => u.s.pairs },
    { name: 'chosen', num: true, of: (u) => change(u.s.chosen) },
    { name: 'rejected', num: true, of: (u) => change(u.s.rejected) }]} /></details>`;
}

function DataPage({ doc }) {
  const sets = doc.epochs.flatMap((e) => e.updates.filter((u) => u.card).map((u) => ({ epoch: e.number,
    agent: u.agent, rows: u.rows, ...u.card })));
  const columns = [
    { name: 'epoch', num: true, of: (c) => c.epoch }, { name: 'agent', num: true, of: (c) => c.agent },
    { name: 'pairs', num: true, ask: 'pairs', of: (c) => whole(c.rows) },
    { name: 'duplicates', num: true, ask: 'duplicates', of: (c) => c.duplicates },
    { name: 'chosen, bytes', num: true, of: (c) => (c.chosen_length ? c.chosen_length.toFixed(0) : '–') },
    { name: 'rejected, bytes', num: true, of: (c) => (c.rejected_length ? c.rejected_length.toFixed(0) : '–') },
    { name: 'style AUC', num: true, ask: 'style AUC', of: (c) => (c.rejected_length ? c.style_auc.toFixed(2) : '–') },
    { name: 'by source', ask: 'source', of: (c) => Object.entries(c.by_source).map(([k, n]) => k + ' ' + n).join(', ') },
  ];

  return html`${doc.levels.map((card) => html`<${Level} card=${card} />`)}
    ${sets.length > 0 && html`<${Table} caption="Data cards of the updates" ask="pairs" file=${doc.name + '-data'}
      columns=${columns} rows=${sets} />`}
    <${Counts} name=${doc.name} sets=${sets} />
    ${doc.levels.length + sets.length === 0 && html`<p>There are no data sets yet.</p>`}`;
}

// Counts are the pairs of all agents by template, type of the chosen action and source, with a column for each epoch.
function Counts({ name, sets }) {
  const epochs = [...new Set(sets.map((c) => c.epoch))];
  const kinds = new Map();
  sets.forEach((c) => Object.entries(c.counts || {}).forEach(([kind, n]) => {
    const row = kinds.get(kind) || {};
    row[c.epoch] = (row[c.epoch] || 0) + n;
    kinds.set(kind, row);
  }));
  if (kinds.size === 0) return null;
  const part = (i, j) => ([kind]) => kind.split('/').slice(i, j).join('/'); // templates may have slashes
  const columns = [{ name: 'template', of: part(0, -2) }, { name: 'type', of: part(-2, -1) },
    { name: 'source', of: part(-1) },
    ...epochs.map((e) => ({ name: 'epoch ' + e, num: true, of: ([, row]) => whole(row[e] || 0) }))];

  return html`<details open=${kinds.size <= 20}><summary>Pairs by template, type of the chosen action, and source
    (${kinds.size})</summary><${Table} caption="Pairs of all agents" file=${name + '-counts'} columns=${columns}
      rows=${[...kinds].sort(by(([kind]) => kind))} /></details>`;
}

// Specification shows the run's file as YAML: what differs from the defaults, or all, with what people changed later.
function Specification({ doc, query }) {
  const all = query.all === '1' || !doc.lines;
  const known = doc.lines || [{ text: JSON.stringify(doc.spec, null, 2) }];
  const lines = all ? known : known.filter((l) => l.set || l.changed);

  return html`<section><h2>Specification, with all changes</h2>
    <p><a href=${href(['run', doc.name, 'specification'], { all: all ? '' : 1 })}>${all
      ? 'only what differs from the defaults' : 'with all defaults'}</a>${' '}
      <${Save} name=${doc.name} json=${() => doc.spec} /></p>
    <pre class="tree yaml" tabindex="0">${lines.map((l) => html`<span class=${all && l.set ? 'set' : ''}>${l.text}</span>${
      l.changed && html`<span class="later">  # ${l.changed}</span>`}${'\n'}`)}</pre>
    ${all && html`<p class="note">Bold: not the default.</p>`}
    <h2>System message of the agents</h2><pre class="text">${doc.system}</pre></section>`;
}
