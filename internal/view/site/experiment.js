'use strict';

function ExperimentPage({ index, parts, version }) {
  const { doc, error } = useDoc('experiment/' + parts[1], version);
  if (error || !doc) return html`<${Alone} name=${parts[1]} error=${error} />`;
  const newest = doc.versions.at(-1);
  const of = doc.versions.find((v) => v.number === doc.result?.version) || newest; // what the result is of
  const x = of.experiment;
  const points = (v) => (v > 0 ? '+' : '') + v.toFixed(1);
  const rows = doc.result ? doc.result.rows : [];
  const columns = [
    { name: 'contrast', of: (r) => r.of + ' − ' + r.minus + ', ' + r.split + choseOn(r.split) },
    { name: 'rates', num: true, of: (r) => r.of_rate.toFixed(1) + ', ' + r.minus_rate.toFixed(1) },
    { name: 'difference', num: true, of: (r) => points(r.mean) },
    { name: '[t]', num: true, ask: '[t]', of: (r) => (r.repeated ? '–' : points(r.low) + ', ' + points(r.high)) },
    { name: '[c]', num: true, ask: '[c]', of: (r) => points(r.wide_low) + ', ' + points(r.wide_high) },
    { name: 'p', num: true, ask: 'p', of: (r) => (r.repeated ? '–' : r.p_adj.toFixed(3)) },
    { name: 'missing pairs', num: true, ask: 'missing pairs',
      of: (r) => (r.missing ? r.missing + ': ' + points(r.worst || 0) + ' to ' + points(r.best || 0) + ' with them' : '')
    },
    { name: 'claim', ask: 'claim',
      of: (r) => (r.claim ? (r.holds ? 'holds' : 'fails') : '') + (r.primary ? ', primary' : '') +
        (r.late ? ', declared when results were known' : '') },
    { name: 'episodes', of: (r) => html`<${Seeds} doc=${doc} systems=${[r.minus, r.of]} split=${r.split} />`,
      csv: () => '' },
  ];

  return html`<main id="main"><h1>${doc.name}</h1><p class="lead">${x.about}</p>
    <p class="note">
      ${x.seeds} seeds; version ${of.number} of the declaration, ${short(of.digest)}, by ${of.who} at ${day(of.at)}.
      ${doc.result && of !== newest ? 'Version ' + newest.number + ', with ' + newest.experiment.seeds +
        ' seeds, has no result yet. ' : ''}
      Differences in points. [t] is Student's interval over seeds, [c] that over seeds and templates, both at 95 %;
      p is adjusted by Holm's method for the contrasts that are not primary.
      ${rows.some((r) => r.repeated) ? ' Where seeds repeat the same systems there is neither [t] nor p.' : ''}</p>
    ${rows.length > 0 ? html`<${Forest} name=${doc.name} rows=${rows}/>
      <${Table} caption="Contrasts" file=${doc.name} columns=${columns} rows=${rows} />`
      : html`<p>There is no result yet.</p>`}
    ${doc.result && html`<${Systems} doc=${doc} />`}
    <h2>Arms</h2><ul>${x.arms.map((arm) => html`<li><strong>${arm.name}
      </strong> ${Object.entries(arm.set || {}).map(([k, v]) => k + '=' + v).join(' ')}
      ${arm.from &&
        ' trains ' + arm.from + ' further'}
      ${doc.runs.filter((r) => r.startsWith(doc.name + '-' + arm.name + '-s')).map((r) => html`${' '}<a
        href=${href(['run', r])}>${r}</a>`)}</li>`)}</ul>
    <${Arms} doc=${doc} contrasts=${x.contrasts || []} />
  </main>`;
}

// Systems shows the rates, further figures and costs of all systems, over all seeds.
function Systems({ doc }) {
  const { figures = {}, systems = [] } = doc.result;
  const keys = [...new Set([...Object.keys(figures), ...(systems || []).flatMap((s) => Object.keys(s || {}))])];
  const rows = keys.sort().map((key) => {
    const results = (systems || []).map((s) => s?.[key]).filter(Boolean);

    return { key, f: figures[key], r: results.length ? pooled(results) : undefined };
  });
  const rated = (x) => x.r && !x.r.protocol;
  const columns = [
    { name: 'system', of: (x) => x.key },
    { name: 'right', num: true, of: (x) => (x.r ? x.r.successes + ' of ' + x.r.episodes : '–') },
    { name: 'rate', num: true, of: (x) => (rated(x) ? rateOf(x.r) : '–') },
    { name: '95 % interval', num: true, ask: 'Wilson interval', of: (x) => (rated(x) ? intervalOf(x.r) : '–') },
    ...[1, 2, 4].map((k, i) => ({ name: 'pass^' + k, num: true, ask: 'pass^k',
      of: (x) => (x.f?.pass?.[i] === undefined ? '' : (100 * x.f.pass[i]).toFixed(1)) })),
    ...[2, 4].map((k, i) => ({ name: 'pass@' + k, num: true, ask: 'pass@k', // pass@1 is pass^1
      of: (x) => (x.f?.pass_at?.[i + 1] === undefined ? '' : (100 * x.f.pass_at[i + 1]).toFixed(1)) })),
    { name: 'entropy of votes', num: true, ask: 'entropy of votes',
      of: (x) => (x.f?.entropy === undefined ? '' : x.f.entropy.toFixed(2)) },
    { name: 'false completes', num: true, ask: 'false completes',
      of: (x) => (x.f && x.r?.episodes > 0 ? percent(x.f.false_completes) : '') },
  ];
  const points = rows.filter((x) => rated(x) && x.r.episodes > 0).map((x) => ({ group: x.key.split(' on ').at(-1), system: x.key.split(' on ')[0],
    result: x.r }));

  return html`<${Table} caption="Systems, over the episodes of all seeds, with Wilson intervals"
    file=${doc.name + '-systems'} rows=${rows} columns=${columns} />
    <${Table} caption="What the systems cost, over the episodes of all seeds" file=${doc.name + '-costs'} rows=${rows}
      columns=${[columns[0], ...costColumns((x) => x.r)]} />
    <${Frontiers} name=${doc.name} rows=${points} />`;
}

// Arms leads to what several arms play alike, side by side.
function Arms({ doc, contrasts }) {
  const plays = new Map(); // by SYSTEM on SPLIT: ARM/SYSTEM
  contrasts.forEach((c) => [c.of, c.minus].forEach((side) => {
    const name = side.split('/')[1] + ' on ' + c.split;
    plays.set(name, new Set([...(plays.get(name) || []), side]));
  }));
  const rows = [...plays].filter(([, sides]) => sides.size > 1);
  if (rows.length === 0 || doc.runs.length === 0) return null;

  return html`<h2>Arms side by side</h2><ul>${rows.map(([name, sides]) => html`<li>${name}: ${[...sides].map((s) =>
    s.split('/')[0]).join(', ')} <${Seeds} doc=${doc} systems=${[...sides]} split=${name.split(' on ')[1]} /></li>`)}
    </ul>`;
}

// Seeds leads, for each seed, to what systems, each ARM/SYSTEM, did on the episodes of a split.
function Seeds({ doc, systems, split }) {
  const seeds = Array.from({ length: doc.versions.at(-1).experiment.seeds }, (_, i) => i + 1);
  const place = (side, seed) => {
    const [arm, system] = side.split('/');

    return { run: doc.name + '-' + arm + '-s' + seed, id: 'experiment/' + system + '/' + split };
  };

  return seeds.map((seed) => {
    const all = systems.map((s) => place(s, seed));
    if (!all.every((p) => doc.runs.includes(p.run))) return null;
    const [a, b, ...more] = all.map((p) => p.run + '/' + p.id);

    return html`<a href=${href(['compare'], { a, b, more: more.join() })}>seed ${seed}</a>${' '}`;
  });
}

// Forest draws every difference with both intervals around 0.
function Forest({ name, rows }) {
  const svg = useRef(null);
  const all = rows.flatMap((r) => [r.low, r.high, r.wide_low, r.wide_high, 0]).filter(Number.isFinite);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const [W, L, line] = [760, 330, 26];
  const H = rows.length * line + 30;
  const px = (v) => L + ((v - low) / (high - low || 1)) * (W - L - 16);

  return html`<figure class="chart forest"><figcaption>Differences in points: thick [t], thin [c]<${Ask} of="[c]" /> <${Save}
    name=${name + '-differences'} svg=${() => svg.current} /></figcaption>
    <svg ref=${svg} viewBox="0 0 ${W} ${H}" role="img" aria-label="differences with their intervals, see the table">
      <line class="zero" x1=${px(0)} x2=${px(0)} y1="4" y2=${H - 22} />
      ${ticks(low, high).map((t) => html`<text class="tick" x=${px(t)} y=${H - 6} text-anchor="middle">${t}</text>`)}
      ${rows.map((r, i) => html`<g class=${'contrast ' + (r.claim ? (r.holds ? 'holds' : 'fails') : '')}>
        <text x=${L - 8} y=${i * line + 18} text-anchor="end">${r.of} − ${r.minus}, ${r.split}</text>
        <line class="thin" x1=${px(r.wide_low)} x2=${px(r.wide_high)} y1=${i * line + 14} y2=${i * line + 14} />
        <line class="thick" x1=${px(r.low)} x2=${px(r.high)} y1=${i * line + 14} y2=${i * line + 14} />
          <circle cx=${px(r.mean)} cy=${i * line + 14} r="4.5" /></g>`)}
    </svg></figure>`;
}

function LinePage({ parts, version }) {
  const { doc, error } = useDoc('line/' + parts[1], version);
  if (error || !doc) return html`<${Alone} name=${parts[1]} error=${error} />`;

  return html`<main id="main"><h1>line ${doc.name}</h1><${Table} caption="Who accepted which system, and why"
    file=${doc.name} rows=${[...doc.entries].reverse()} columns=${[
    { name: 'entry', num: true, of: (e) => e.number + (e.number === doc.current ? ' (accepted)' : '') },
      { name: 'when', of: (e) => day(e.at) }, { name: 'who', of: (e) => e.who },
    { name: 'what', of: (e) => e.verb }, { name: 'system', of: (e) => html`<a href=${href(['run', e.system.run])}>
      ${e.system.run}@${e.system.epoch}</a>`, csv: (e) => e.system.run + '@' + e.system.epoch },
    { name: 'why', of: (e) => e.why }]} />
    ${(doc.entries.find((e) => e.number === doc.current)?.results || []).length > 0 && html`<${Results}
      doc=${{ name: doc.name }} title="Results of the accepted system"
        results=${doc.entries.find((e) => e.number === doc.current).results} />
      <${Frontiers} name=${doc.name} rows=${played(doc.entries.find((e) => e.number === doc.current).results)
        .map(ofGroup)} />`}</main>`;
}
