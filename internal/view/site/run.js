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
    <p class="lead">stage ${s.stage}, epoch ${s.epoch} of ${s.epochs} · critic ${s.critic}
      ${s.reason && html` · <strong>${s.reason}</strong>`}
      ${s.warning && html` · <strong>${s.warning}</strong>`}
      ${index.temporal && html` · <a
        href=${index.temporal + '/workflows/' + encodeURIComponent(run)}
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

const val = (doc) => {
  const at = new Map(doc.epochs.filter((e) => e.val).map((e) => [e.number, e.val]));
  if (doc.base_val) at.set(0, doc.base_val);

  return (doc.status.curve || []).map((p) => ({ x: p.at, y: p.rate, low: at.get(p.at)?.low,
    high: at.get(p.at)?.high }));
};

// byAgent returns a series for each agent, and one for their mean, whose band goes from the least to the greatest.
const byAgent = (doc, of) => {
  const agents = Array.from({ length: doc.spec.agents }, (_, agent) => ({
    name: 'agent ' + agent,
    points: doc.epochs.flatMap((e) => e.updates.filter((u) => u.agent === agent && of(u) !== undefined)
      .map((u) => ({ x: e.number, y: of(u) }))),
  }));
  const mean = doc.epochs.map((e) => [e.number, agents.flatMap((s) => s.points.filter((p) => p.x === e.number)
    .map((p) => p.y))]).filter(([, ys]) => ys.length > 1)
    .map(([x, ys]) => ({ x, y: sum(ys) / ys.length, low: Math.min(...ys), high: Math.max(...ys) }));

  return [...agents, { name: 'mean; the band is from the least to the greatest agent', points: mean }];
};

const probes = (doc, of) => byAgent(doc, (u) => (u.probe.unknown ? undefined : of(u.probe)));
const gaps = (doc, key) => byAgent(doc, (u) => (u[key]?.answers ? u[key].mean : undefined));

function Overview({ doc, version }) {
  const s = doc.status;
  const rollouts = doc.epochs.filter((e) => e.rollouts).map((e) => ({ x: e.number, y: e.rollouts.rate,
    low: e.rollouts.low, high: e.rollouts.high }));
  const sources = [...new Set(doc.epochs.flatMap((e) => e.updates.flatMap((u) => Object.keys(u.card?.by_source ||
    {}))))];
  const paired = sources.map((name) => ({ name, points: doc.epochs.filter((e) => e.updates.length).map((e) => ({
    x: e.number, y: sum(e.updates.map((u) => u.card?.by_source?.[name] || 0)) })) }));
  const money = Object.entries((s.spending || []).filter((x) => x.money > 0).reduce((all, x) => {
    (all[x.role] ||= []).push(x);

    return all;
  }, {})).map(([name, xs]) => ({ name, points: [...new Set(xs.map((x) => x.epoch))].sort((a,
    b) => a - b).map((epoch) => ({
    x: epoch, y: sum(xs.filter((x) => x.epoch === epoch).map((x) => x.money)) })) }));

  return html`
    ${(s.problems || []).map((p) => html`<p class="trouble">
      ${p.name || ''} ${p.detail || p.text || JSON.stringify(p)}</p>`)}
    <div class="charts">
      <${Chart} name=${doc.name + '-success'} title="Success by epoch, with Wilson intervals at 95 %" low=${0}
        high=${1}
        format=${percent} series=${[{ name: 'val', points: val(doc) }, { name: 'rollouts', points: rollouts }]} />
      <${Chart} name=${doc.name + '-entropy'} title="Entropy of sampled answers, in nats"
        series=${probes(doc, (p) => p.entropy)} />
      <${Chart} name=${doc.name + '-kl'} title="KL against the parent policy, in nats"
        series=${probes(doc, (p) => p.kl)} />
      <${Chart} name=${doc.name + '-train-serve-gap'}
        title="log π of trainer and servers, published policies: difference in nats per token"
        series=${gaps(doc, 'train_serve_gap')} />
      <${Chart} name=${doc.name + '-rollout-gap'}
        title="log π of trainer and rollouts, same answers: difference in nats per token"
        series=${gaps(doc, 'rollout_gap')} />
      <${Chart} name=${doc.name + '-pairs'} title="Pairs by source" series=${paired} />
      <${Agreement} doc=${doc} version=${version} />
      ${money.length > 0 ? html`<${Chart} name=${doc.name + '-cost'} title="Cost of chat endpoints by role"
        series=${money} />` : html`<${Tokens} doc=${doc} version=${version} />`}
    </div>
    <${Graphs} doc=${doc} />
    <${Epochs} doc=${doc} />
    <${Results} doc=${doc} results=${s.results} title="Results, with Wilson intervals at 95 %" />
    <${Cost} s=${s} name=${doc.name} />
    <${Live} s=${s} />
    <${Health} doc=${doc} version=${version} />
    <${Changes} s=${s} />
    <${Lineage} doc=${doc} />
    ${s.final_digest && html`<p class="note">Trained system: ${s.best_epoch
      ? 'epoch ' + s.best_epoch : 'the base policy, as no epoch was better on val'}. Final digest <code>
      ${s.final_digest}</code>.</p>`}`;
}

// Agreement draws how often critic and judge agree, from the lists of episodes.
function Agreement({ doc, version }) {
  const { docs } = useDocs(doc.epochs.map((e) => 'rows/' + doc.name + '/' + e.number), version,
    openRows(doc));
  if (!docs) return null;
  const points = docs.map((rows, i) => [doc.epochs[i].number, sum(rows.map((r) => r.judged || 0)),
    sum(rows.map((r) => r.against || 0))])
    .filter(([, n]) => n > 0).map(([x, n, k]) => ({ x, y: 1 - k / n, ...wilson(n - k, n) }));

  return html`<${Chart} name=${doc.name + '-agreement'} low=${0} high=${1} format=${percent}
    title="Cells on which critic and judge agree, with Wilson intervals at 95 %"
    series=${[{ name: doc.status.critic, points }]} />`;
}

// wilson returns the interval at 95 % of a share of k in n.
function wilson(k, n) {
  const z = 1.959963984540054;
  const [p, mid] = [k / n, k / n + (z * z) / (2 * n)];
  const half = z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));

  return { low: Math.max(0, (mid - half) / (1 + (z * z) / n)), high: Math.min(1, (mid + half) / (1 + (z * z) / n)) };
}

// Tokens draws the tokens of a run whose models cost no money: of its agents, and of chat endpoints by role.
function Tokens({ doc, version }) {
  const { docs } = useDocs(doc.epochs.map((e) => 'rows/' + doc.name + '/' + e.number), version, openRows(doc));
  if (!docs) return null;
  const byEpoch = (xs) => [...new Set(xs.map(([x]) => x))].sort((a, b) => a - b)
    .map((x) => ({ x, y: sum(xs.filter(([e]) => e === x).map(([, n]) => n)) })).filter((p) => p.y > 0);
  const spending = doc.status.spending || [];
  const roles = [...new Set(spending.map((s) => s.role))];
  const series = [
    { name: 'agents, rollouts', points: byEpoch(docs.flatMap((rows, i) => rows.map((r) => [doc.epochs[i].number,
      r.own || 0]))) },
    { name: 'agents, evaluations', points: byEpoch(doc.evaluations.filter((e) => e.epoch >= 0 && e.result.cost)
      .map((e) => [e.epoch, e.result.cost.prompt + e.result.cost.answer])) },
    ...roles.map((name) => ({ name, points: byEpoch(spending.filter((s) => s.role === name)
      .map((s) => [s.epoch, s.tokens])) }))];

  return html`<${Chart} name=${doc.name + '-tokens'} title="Tokens by role" format=${(n) => whole(Math.round(n))}
    series=${series} />`;
}

function Graphs({ doc }) {
  return html`<section><h2>Who reads whom</h2><div class="graphs">${doc.epochs.map((e) => html`<figure>
    <${Graph} small agents=${doc.spec.agents} edges=${e.edges || []} /><figcaption>epoch ${e.number}
      <${Save} name=${doc.name + '-graph-' + e.number} svg=${drawnIn('figure')} /></figcaption></figure>`)}
  </div></section>`;
}

function Epochs({ doc }) {
  const columns = [
    { name: 'epoch', num: true, of: (e) => html`<a href=${href(['run', doc.name, 'episodes'], { epoch: e.number })}>
      ${e.number}</a>`, csv: (e) => e.number },
    { name: 'rollouts', num: true, of: (e) => (e.rollouts ? percent(e.rollouts.rate) : '') },
    { name: 'pairs', num: true, of: (e) => (e.committed ? whole(e.pairs) : '') },
    { name: 'val', num: true, of: (e) => (e.val ? percent(e.val.rate) : '') },
    { name: 'failed slots', num: true, of: (e) => e.failed || '' },
    { name: 'what the agents go on with', of: (e) => (!e.committed ? 'not committed yet' : e.kept ||
      'the new policies') +
      keptBy(e) + (e.accepted ? ' (failed slots accepted by ' + e.accepted + ')' : '') },
    { name: 'digest', of: (e) => html`<code title=${e.digest}>${short(e.digest)}</code>`, csv: (e) => e.digest },
  ];

  return html`<${Table} caption="Epochs" file=${doc.name + '-epochs'} columns=${columns} rows=${doc.epochs} />`;
}

const keptBy = (e) => e.updates.filter((u) => u.kept)
  .map((u) => '; agent ' + u.agent + ' keeps its parent: ' + u.kept).join('');

// choseOn marks val, also that of another environment, on which systems were chosen.
const choseOn = (split) => (split.split('.').at(-1) === 'val' ? ' (chose the epoch)' : '');

// Results shows success rates, and apart from them the step rates on recorded tasks, which are none.
function Results({ doc, results, title }) {
  const played = (results || []).filter((r) => !r.protocol);
  const recorded = (results || []).filter((r) => r.protocol);

  return html`<${Rates} doc=${doc} results=${played} title=${title} /><${Recorded} doc=${doc} results=${recorded} />`;
}

function Recorded({ doc, results }) {
  if (results.length === 0) return null;
  const rows = results.flatMap((r) => Object.entries(r.metrics || {}).map(([name, m]) => ({ r, name, m })));
  const columns = [
    { name: 'system', of: (x) => x.r.system }, { name: 'environment', of: (x) => x.r.environment || '' },
    { name: 'protocol', of: (x) => x.r.protocol }, { name: 'split', of: (x) => x.r.split + choseOn(x.r.split) },
    { name: 'metric', of: (x) => x.name },
    { name: 'micro', num: true, of: (x) => percent(x.m.micro) },
    { name: 'macro', num: true, of: (x) => percent(x.m.macro) },
    { name: '95 % of micro (bootstrap)', num: true,
      of: (x) => (100 * x.m.low).toFixed(1) + ' to ' + (100 * x.m.high).toFixed(1) },
    { name: 'tasks right in full', num: true, of: (x) => x.r.successes + ' of ' + x.r.episodes },
  ];

  return html`<${Table} caption="Recorded tasks: rates of steps, no success rates" file=${doc.name + '-recorded'}
    columns=${columns} rows=${rows} />`;
}

function Rates({ doc, results, title }) {
  if (results.length === 0) return null;
  const where = (r) => (r.environment ? r.environment + ', ' : '') + r.split + choseOn(r.split);
  const columns = [
    { name: 'system', of: (r) => r.system },
    { name: 'split', of: where },
    { name: 'right', num: true, of: (r) => r.successes + ' of ' + r.episodes },
    { name: 'rate', num: true, of: (r) => percent(r.rate) },
    { name: '95 % interval', num: true, of: (r) => (100 * r.low).toFixed(1) + ' to ' + (100 * r.high).toFixed(1) },
    { name: 'missing', num: true, of: (r) => r.missing || '' },
    ...costColumns((r) => r),
    { name: 'decoding', of: (r) => r.decoding },
  ];
  const group = (r) => (r.environment ? r.environment + ', ' : '') + r.split;

  return html`<${Table} caption=${title} file=${doc.name + '-results'} columns=${columns} rows=${results} />
    <${Frontiers} name=${doc.name} rows=${results.map((r) => ({ group: group(r), system: r.system, result: r }))} />`;
}

function Cost({ s, name }) {
  if (!s.spending || s.spending.length === 0) return null;
  const columns = [
    { name: 'role', of: (x) => x.role }, { name: 'model', of: (x) => x.model },
    { name: 'epoch', num: true, of: (x) => (x.epoch === 0 ? 'stage 1' : x.epoch) },
    { name: 'calls', num: true, of: (x) => whole(x.calls) },
    { name: 'tokens', num: true, of: (x) => (x.estimated ? '≈ ' : '') + whole(x.tokens),
      title: '≈: estimated for some calls, of which the server reports none' },
    { name: 'cost', num: true, of: (x) => x.money.toFixed(4) },
  ];

  return html`<${Table} caption=${'Cost by role: ' + s.spent.money.toFixed(4) + ' in all' +
    (s.forecast ? ', about ' + s.forecast.toFixed(2) + ' at the end' : '')} file=${name + '-cost'} columns=${columns}
      rows=${s.spending} />`;
}

function Changes({ s }) {
  if (!s.changes || s.changes.length === 0) return null;
  const what = (c) => [c.verb, ...Object.entries(c.values || {}).map(([k, v]) => k + '=' + v),
    ...(c.cells || []).map((x) => 'label ' + [x.slot, x.step, x.agent, x.round].join('/') + '=' + x.label)].join(' ');

  return html`<${Table} caption="Changes by people" columns=${[
    { name: 'when', of: (c) => c.at }, { name: 'who', of: (c) => c.who }, { name: 'what', of: what },
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
  const pair = (e) => rows.find((o) => o.result.split === e.result.split &&
    o.result.episodes === e.result.episodes && o.id !== e.id);
  const columns = [
    { name: 'evaluation', of: (e) => html`<a href=${href(['evaluation', doc.name, e.id])}>${e.id}
      </a>`, csv: (e) => e.id },
    { name: 'right', num: true, of: (e) => e.result.successes + ' of ' + e.result.episodes },
    { name: 'rate', num: true, of: (e) => percent(e.result.rate) },
    { name: '95 % interval', num: true,
      of: (e) => (100 * e.result.low).toFixed(1) + ' to ' + (100 * e.result.high).toFixed(1) },
    ...costColumns((e) => e.result),
    { name: 'compare', of: (e) => pair(e) && html`<a
      href=${href(['compare'], { a: doc.name + '/' + pair(e).id, b: doc.name + '/' + e.id })}>
      with ${pair(e).id}</a>`, csv: () => '' },
  ];

  return html`<${Table} caption="Evaluations" file=${doc.name + '-evaluations'} columns=${columns} rows=${rows} />`;
}

function Updates({ doc }) {
  const rows = doc.epochs.flatMap((e) => e.updates.map((u) => ({ epoch: e.number, ...u })));
  const p = (f) => (u) => (u.probe.unknown ? '' : f(u.probe));
  const change = (l) => (l ? l.policy.toFixed(2) + ' (' + nats(l.policy - l.parent) + ')' : '');
  const columns = [
    { name: 'epoch', num: true, of: (u) => u.epoch }, { name: 'agent', num: true, of: (u) => u.agent },
    { name: 'pairs', num: true, of: (u) => whole(u.rows) },
    { name: 'rows left out', num: true, title: 'by people', of: (u) => (u.without || []).join(', ') },
    { name: 'steps', num: true, of: (u) => u.steps },
    { name: 'loss', num: true, of: (u) => (u.curve?.length ? u.curve.at(-1).loss.toFixed(3) : '–') },
    { name: 'log π(chosen)', num: true,
      of: p((x) => change(x.chosen)) },
    { name: 'log π(rejected)', num: true,
      of: p((x) => change(x.rejected)) },
    { name: 'entropy', num: true, of: p((x) => x.entropy.toFixed(2)) }, { name: 'KL', num: true,
      of: p((x) => x.kl.toFixed(2)) },
    { name: 'parse rate', num: true, of: (u) => (u.probe.prompts ? percent(u.probe.parse_rate) : '') },
    { name: 'displaced', num: true, of: p((x) => (x.displaced ?? 0).toFixed(3)),
      title: 'probability that went to neither the chosen nor the rejected answer, against the parent' },
    { name: 'train-serve gap', num: true, of: (u) => gapText(u.train_serve_gap),
      title: 'mean difference between log π of trainer and servers, in nats per token' },
    { name: 'rollout gap', num: true, of: (u) => gapText(u.rollout_gap),
      title: 'the same between trainer and rollouts, on answers of the parent' },
    { name: 'gate',
      of: (u) => (u.kept ? 'parent kept: ' + u.kept : 'taken') +
        (u.probe.unknown ? ' · not probed: ' + u.probe.unknown : '') },
    { name: 'policy', of: (u) => html`<code title=${u.policy}>${short(u.policy)}</code>`, csv: (u) => u.policy },
  ];
  const curves = (agent) => doc.epochs.map((e) => ({ name: 'epoch ' + e.number,
    points: (e.updates.find((u) => u.agent === agent)?.curve || []).map((c) => ({ x: c.step, y: c.loss })) }));

  return html`<${Table} caption="Updates: nats per answer, change against the parent in brackets"
    file=${doc.name + '-updates'} columns=${columns} rows=${rows} />
    <${Sources} name=${doc.name} rows=${rows} />
    <div class="charts">${Array.from({ length: doc.spec.agents }, (_, agent) => html`<${Chart}
      name=${doc.name + '-loss-' + agent}
      title=${'Loss of agent ' + agent} x="optimiser step" series=${curves(agent)} />`)}</div>`;
}

const gapText = (g) => (g?.answers ? g.mean.toPrecision(2) : g?.unknown || '');

// Sources are what the probes of updates found of the pairs of each source.
function Sources({ name, rows }) {
  const lines = rows.filter((u) => !u.probe.unknown)
    .flatMap((u) => Object.entries(u.probe.by_source || {}).map(([source, s]) => ({ ...u, source, s })));
  if (lines.length === 0) return null;
  const change = (l) => nats(l.policy - l.parent);

  return html`<details><summary>Probes by source of the pairs (${lines.length})</summary><${Table}
    caption="Change of log π against the parent, in nats" file=${name + '-sources'} rows=${lines} columns=${[
    { name: 'epoch', num: true, of: (u) => u.epoch }, { name: 'agent', num: true, of: (u) => u.agent },
    { name: 'source', of: (u) => u.source }, { name: 'pairs probed', num: true, of: (u) => u.s.pairs },
    { name: 'chosen', num: true, of: (u) => change(u.s.chosen) },
    { name: 'rejected', num: true, of: (u) => change(u.s.rejected) }]} /></details>`;
}

function DataPage({ doc }) {
  const sets = doc.epochs.flatMap((e) => e.updates.filter((u) => u.card).map((u) => ({ epoch: e.number,
    agent: u.agent, rows: u.rows, ...u.card })));
  const columns = [
    { name: 'epoch', num: true, of: (c) => c.epoch }, { name: 'agent', num: true, of: (c) => c.agent },
    { name: 'pairs', num: true, of: (c) => whole(c.rows) }, { name: 'duplicates', num: true,
      of: (c) => c.duplicates },
    { name: 'chosen, bytes', num: true, of: (c) => c.chosen_length.toFixed(0) },
    { name: 'rejected, bytes', num: true, of: (c) => c.rejected_length.toFixed(0) },
    { name: 'style AUC', num: true,
      title: 'how well words alone separate chosen from rejected answers; 0.5: not at all',
        of: (c) => c.style_auc.toFixed(2) },
    { name: 'by source', of: (c) => Object.entries(c.by_source).map(([k, n]) => k + ' ' + n).join(', ') },
  ];

  return html`${doc.levels.map((card) => html`<${Level} card=${card} />`)}
    ${sets.length > 0 && html`<${Table} caption="Data cards of the updates" file=${doc.name + '-data'}
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

function Specification({ doc }) {
  return html`<section><h2>Specification, with all changes</h2>
    <${Save} name=${doc.name} json=${() => doc.spec} /><pre
    class="tree" tabindex="0">${JSON.stringify(doc.spec, null, 2)}</pre>
    <h2>System message of the agents</h2><pre class="text">${doc.system}</pre></section>`;
}
