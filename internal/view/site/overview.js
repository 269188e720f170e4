'use strict';

// SPLITS are the words for splits in a sentence.
const SPLITS = { 'test-seeds': 'unseen seeds', 'test-templates': 'unseen templates', 'test-apps': 'unseen apps' };

// Headline is the first line of a run: what it gained, and what that took.
function Headline({ doc }) {
  const s = doc.status;
  const round = (x) => (100 * x).toFixed(0);
  const change = (name, from, to) => to !== undefined && html`<strong>${name} ${from !== undefined && from !== to
    ? round(from) + ' → ' : ''}${round(to)} %</strong>`;
  const curve = val(doc).filter((p) => p.y !== undefined);
  const played = (s.results || []).filter((r) => r.episodes > 0 && !r.environment && !r.protocol && r.split !== 'val');
  const of = (system, split) => played.find((r) => r.system === system + '-' + doc.spec.agents && r.split === split)?.rate;
  const tests = [...new Set(played.map((r) => r.split))].filter((split) => of('trained', split) !== undefined);
  const slots = sum(doc.epochs.map((e) => e.slots));
  const ended = doc.ended || (OPEN.includes(s.status) ? new Date().toISOString() : undefined);
  const pauses = (s.changes || []).filter((c) => c.verb === 'pause').length;
  const parts = [
    curve.length > 0 && change('val', curve.find((p) => p.x === 0)?.y, Math.max(...curve.map((p) => p.y))),
    ...tests.map((split) => change(SPLITS[split] || split, of('base', split), of('trained', split))),
    slots > 0 && whole(slots) + ' training episodes', lasting(seconds(doc.began, ended)),
    pauses > 0 && (pauses === 1 ? 'paused once' : 'paused ' + pauses + ' times'),
    s.status === 'finished' ? 'finished' : s.stage + ', epoch ' + s.epoch + ' of ' + s.epochs,
  ].filter(Boolean);

  return html`<p class="headline">${parts.map((p, i) => html`${i > 0 ? ', ' : ''}${p}`)}</p>`;
}

const val = (doc) => {
  const at = new Map(doc.epochs.filter((e) => e.val && e.val.episodes > 0).map((e) => [e.number, e.val]));
  if (doc.base_val?.episodes > 0) at.set(0, doc.base_val);
  const curve = new Map((doc.status.curve || []).map((p) => [p.at, p.rate]));
  if (doc.base_val?.episodes > 0 && !curve.has(0)) curve.set(0, doc.base_val.rate);

  return [...curve].sort((a, b) => a[0] - b[0]).map(([x, y]) => ({ x, y, low: at.get(x)?.low, high: at.get(x)?.high }));
};

// measured reports whether a probe has log-probabilities: that of an agent that was not updated has none.
const measured = (probe) => probe.prompts > 0 && !probe.unknown;

// byAgent returns a series for each agent, and one for their mean, whose band goes from the least to the greatest. of
// returns what was measured of an update, or { why } if nothing was, which is a gap.
const byAgent = (doc, of) => {
  const agents = Array.from({ length: doc.spec.agents }, (_, agent) => ({
    name: 'agent ' + agent,
    points: doc.epochs.flatMap((e) => e.updates.filter((u) => u.agent === agent).map((u) => ({ x: e.number, ...of(u) }))),
  }));
  const mean = doc.epochs.map((e) => [e.number, agents.flatMap((s) => s.points.filter((p) => p.x === e.number &&
    p.y !== undefined).map((p) => p.y))]).filter(([, ys]) => ys.length > 1)
    .map(([x, ys]) => ({ x, y: sum(ys) / ys.length, low: Math.min(...ys), high: Math.max(...ys) }));

  return [...agents, { name: 'mean of those measured; the band is from the least to the greatest', points: mean }];
};

const probes = (doc, key) => byAgent(doc, (u) => (measured(u.probe) ? { y: u.probe[key] }
  : { why: u.probe.unknown || u.kept || 'not probed' }));

const gaps = (doc, key) => byAgent(doc, (u) => (u[key]?.answers ? { y: u[key].mean }
  : { why: u[key]?.unknown || u.kept || 'not compared' }));

// clock returns where epochs lie on a clock, in a unit, or null if the store does not know.
function clock(doc) {
  const at = { 0: doc.base_at, ...Object.fromEntries(doc.epochs.map((e) => [e.number, e.at])) };
  const last = Math.max(...Object.values(at).map((t) => seconds(doc.began, t) || 0));
  if (!doc.began || last === 0) return null;
  const [unit, size] = last > 36000 ? ['hours', 3600] : last > 300 ? ['minutes', 60] : ['seconds', 1];

  return { unit, of: (epoch) => (at[epoch] ? seconds(doc.began, at[epoch]) / size : undefined) };
}

// Curves are the success curves: of stage 1 by optimiser steps, and of stage 2 by epochs or by the clock.
function Curves({ doc, query }) {
  const chunks = doc.evaluations.filter((e) => /^chunk-\d+$/.test(e.result.system) && e.result.episodes > 0)
    .sort(by((e) => e.id));
  const base = doc.status.base?.curve || [];
  const stage1 = base.length > 0 ? base.map((p, i) => ({ x: p.at, y: p.rate, low: chunks[i]?.result.low,
    high: chunks[i]?.result.high })) : chunks.map((e, i) => ({ x: i + 1, y: e.result.rate, low: e.result.low,
    high: e.result.high }));
  const time = clock(doc);
  const onClock = query.axis === 'time' && time;
  const moved = (points) => (onClock ? points.map((p) => ({ ...p, x: time.of(p.x) })).filter((p) => p.x !== undefined)
    : points);
  const rollouts = doc.epochs.filter((e) => e.rollouts?.episodes > 0).map((e) => ({ x: e.number, y: e.rollouts.rate,
    low: e.rollouts.low, high: e.rollouts.high }));
  const axis = (name, text) => html`<a href=${href(['run', doc.name], { ...query, axis: name })}
    aria-current=${(query.axis || '') === name ? 'true' : undefined}>${text}</a>`;

  return html`<div class="charts">
    <${Chart} name=${doc.name + '-stage1'} title="Stage 1: success on val after every chunk" ask="stage 1" low=${0} high=${1}
      format=${percent} x=${base.length > 0 ? 'optimiser step' : 'chunk'} series=${[{ name: 'val', points: stage1 }]} />
    <div><${Chart} name=${doc.name + '-success'} title="Success by epoch, with Wilson intervals at 95 %" low=${0}
      ask="rollouts" high=${1} format=${percent} x=${onClock ? time.unit + ' since the start' : undefined}
      xs=${onClock ? (v) => String(Math.round(v * 10) / 10) : undefined}
      series=${[{ name: 'val', points: moved(val(doc)) }, { name: 'rollouts', points: moved(rollouts) }]} />
      ${time && rollouts.length > 0 && html`<p class="axis note">by ${axis('', 'epoch')} · ${axis('time', 'clock')}</p>`}
    </div></div>`;
}

function Overview({ doc, query, version }) {
  const s = doc.status;
  const open = s.live ? html`<${Live} s=${s} />` : null;

  return html`
    ${(s.problems || []).map((p) => html`<p class="trouble">
      ${p.name || ''} ${p.detail || p.text || JSON.stringify(p)}</p>`)}
    ${open}
    ${doc.epochs.length === 0 && s.status !== 'finished' && html`<p class="note">The run is in stage 1, which trains one
      base policy<${Ask} of="stage 1" />. Episodes of agents appear here with the first epoch. In the quickstart stage 1
      takes about a minute.</p>`}
    <${Curves} doc=${doc} query=${query} />
    <${Results} doc=${doc} results=${s.results} title="Results, with Wilson intervals at 95 %" />
    <${Templates} doc=${doc} version=${version} />
    <${Epochs} doc=${doc} />
    <${Measures} doc=${doc} version=${version} />
    <${Frontiers} name=${doc.name} rows=${played(s.results).map(ofGroup)} />
    <${Graphs} doc=${doc} />
    <${Cost} s=${s} name=${doc.name} />
    <${Changes} s=${s} />
    <${Lineage} doc=${doc} />
    ${s.final_digest && html`<p class="note">Trained system: ${s.best_epoch ? 'epoch ' + s.best_epoch
      : val(doc).length > 0 ? 'the base policy, as no epoch was better on val' : 'the base policy'}. Final digest
      <code>${s.final_digest}</code>.<${Ask} of="digest" /></p>`}`;
}

// Measures are the charts of updates, pairs, labels and costs.
function Measures({ doc, version }) {
  const s = doc.status;
  const ended = doc.epochs.filter((e) => e.committed);
  const sources = [...new Set(ended.flatMap((e) => e.updates.flatMap((u) => Object.keys(u.card?.by_source || {}))))];
  const paired = sources.map((name) => ({ name, points: ended.map((e) => ({
    x: e.number, y: sum(e.updates.map((u) => u.card?.by_source?.[name] || 0)) })) }));
  const money = Object.entries((s.spending || []).filter((x) => x.money > 0).reduce((all, x) => {
    (all[x.role] ||= []).push(x);

    return all;
  }, {})).map(([name, xs]) => ({ name, points: [...new Set(xs.map((x) => x.epoch))].sort((a,
    b) => a - b).map((epoch) => ({
    x: epoch, y: sum(xs.filter((x) => x.epoch === epoch).map((x) => x.money)) })) }));

  return html`<div class="charts">
      <${Chart} name=${doc.name + '-entropy'} title="Entropy of sampled answers, in nats" ask="entropy"
        series=${probes(doc, 'entropy')} />
      <${Chart} name=${doc.name + '-kl'} title="KL against the parent policy, in nats" ask="KL"
        series=${probes(doc, 'kl')} />
      <${Chart} name=${doc.name + '-train-serve-gap'} ask="train-serve gap"
        title="log π of trainer and servers, published policies: difference in nats per token"
        series=${gaps(doc, 'train_serve_gap')} />
      <${Chart} name=${doc.name + '-rollout-gap'} ask="rollout gap"
        title="log π of trainer and rollouts, same answers: difference in nats per token"
        series=${gaps(doc, 'rollout_gap')} />
      <${Chart} name=${doc.name + '-pairs'} title="Pairs by source" ask="source" series=${paired} />
      <${Agreement} doc=${doc} version=${version} />
      ${money.length > 0 ? html`<${Chart} name=${doc.name + '-cost'} title="Cost of chat endpoints by role" ask="cost"
        series=${money} />` : html`<${Tokens} doc=${doc} version=${version} />`}
    </div>`;
}

// Agreement draws how often critic and judge agree, from the lists of episodes. A critic that takes its labels from the
// judge always does: that is no figure.
function Agreement({ doc, version }) {
  const { docs } = useDocs(doc.epochs.map((e) => 'rows/' + doc.name + '/' + e.number), version,
    openRows(doc));
  if (!docs) return null;
  const points = docs.map((rows, i) => [doc.epochs[i].number, sum(rows.map((r) => r.judged || 0)),
    sum(rows.map((r) => r.against || 0))])
    .filter(([, n]) => n > 0).map(([x, n, k]) => ({ x, y: 1 - k / n, ...wilson(n - k, n) }));
  if (doc.spec.critic?.model === 'oracle' && points.every((p) => p.y === 1)) return null;

  return html`<${Chart} name=${doc.name + '-agreement'} low=${0} high=${1} format=${percent} ask="agreement"
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

  return html`<${Chart} name=${doc.name + '-tokens'} title="Tokens by role" ask="tokens"
    format=${(n) => whole(Math.round(n))} series=${series} />`;
}

function Graphs({ doc }) {
  return doc.epochs.length > 0 && html`<section><h2>Who reads whom<${Ask} of="who reads whom" /></h2>
    <div class="graphs">${doc.epochs.map((e) => html`<figure>
    <${Graph} small agents=${doc.spec.agents} edges=${e.edges || []} /><figcaption>epoch ${e.number}
      <${Save} name=${doc.name + '-graph-' + e.number} svg=${drawnIn('figure')} /></figcaption></figure>`)}
  </div></section>`;
}

function Epochs({ doc }) {
  const columns = [
    { name: 'epoch', num: true, of: (e) => html`<a href=${href(['run', doc.name, 'episodes'], { epoch: e.number })}>
      ${e.number}</a>`, csv: (e) => e.number },
    { name: 'rollouts', num: true, ask: 'rollouts', of: (e) => (e.rollouts ? rateOf(e.rollouts) : '') },
    { name: 'pairs', num: true, ask: 'pairs', of: (e) => (e.committed ? whole(e.pairs) : '') },
    { name: 'val', num: true, ask: 'val', of: (e) => (e.val ? rateOf(e.val) : '') },
    { name: 'failed slots', num: true, ask: 'failed', optional: true, of: (e) => e.failed || '' },
    { name: 'the agents continue with', ask: 'gate', of: (e) => (!e.committed ? 'not committed yet' : e.kept ||
      'the new policies') +
      keptBy(e) + (e.accepted ? ' (failed slots accepted by ' + e.accepted + ')' : '') },
    { name: 'digest', ask: 'digest', of: (e) => html`<code title=${e.digest}>${short(e.digest)}</code>`,
      csv: (e) => e.digest },
  ];

  return doc.epochs.length > 0 && html`<${Table} caption="Epochs" ask="epoch" file=${doc.name + '-epochs'}
    columns=${columns} rows=${doc.epochs} />`;
}

const keptBy = (e) => e.updates.filter((u) => u.kept)
  .map((u) => '; agent ' + u.agent + ' keeps its parent: ' + u.kept).join('');

const ENDED = ['solved', 'not solved'];

// Templates is the success of rollouts by template and epoch, and how the environment was: attempts that do not count,
// slots that failed, and steps at which nothing was executed. Episodes without an end count in no rate.
function Templates({ doc, version }) {
  const { rows } = useRows(doc, version);
  if (!rows && doc.epochs.length > 0) return html`<${Wait} />`;
  if (!rows || rows.length === 0) return null;
  const groups = new Map();
  rows.forEach((r) => groups.set(r.template, [...(groups.get(r.template) || []), r]));
  const part = (all) => {
    const ended = all.filter((r) => ENDED.includes(r.state));

    return { n: ended.length, solved: ended.filter((r) => r.state === 'solved').length,
      steps: ended.length ? sum(ended.map((r) => r.steps)) / ended.length : undefined };
  };
  const lines = [...groups].map(([template, all]) => ({ template, begun: all.length, all: part(all),
    byEpoch: new Map(doc.epochs.map((e) => [e.number, part(all.filter((r) => r.epoch === e.number))])),
    failed: all.filter((r) => r.state === 'failed').length,
    void: sum(all.map((r) => r.void || 0)), invalid: sum(all.map((r) => r.invalid || 0)) }));
  const bad = sum(lines.map((l) => l.failed + l.void));
  const rate = (p) => (p?.n ? percent(p.solved / p.n) : '–');
  const share = (p) => (p?.n ? p.solved / p.n : undefined);
  const newest = doc.epochs.slice(-12); // more do not fit
  const columns = [
    { name: 'template', ask: 'template', of: (l) => html`<a href=${href(['run', doc.name, 'episodes'],
      { template: l.template })}>${l.template}</a>`, csv: (l) => l.template },
    { name: 'episodes', num: true, of: (l) => l.begun },
    ...newest.map((e) => ({ name: 'epoch ' + e.number, num: true, of: (l) => rate(l.byEpoch.get(e.number)),
      by: (l) => share(l.byEpoch.get(e.number)),
      shade: (l) => ({ '--share': share(l.byEpoch.get(e.number)) ?? 0 }) })),
    { name: 'all', num: true, of: (l) => rate(l.all), by: (l) => share(l.all) },
    { name: 'steps, mean', num: true, of: (l) => (l.all.steps === undefined ? '–' : l.all.steps.toFixed(1)) },
    { name: 'void attempts', num: true, optional: true, ask: 'void', of: (l) => l.void || '' },
    { name: 'failed slots', num: true, optional: true, ask: 'failed', of: (l) => l.failed || '' },
    { name: 'steps without an action', num: true, optional: true, ask: 'invalid', of: (l) => l.invalid || '' },
  ];

  return html`<section class="health"><h2>Success by template</h2>
    ${bad > 0 && html`<p class="note">${bad} void attempts and failed slots</p>`}
    <${Table} caption="Rollouts by template and epoch" ask="rollouts" file=${doc.name + '-templates'} columns=${columns}
      rows=${lines.sort(by((l) => -(l.failed + l.void) * 1e6 + (share(l.all) ?? 2)))} /></section>`;
}
