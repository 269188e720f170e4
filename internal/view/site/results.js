'use strict';

// systemName is the one name of a system on all pages. One base agent is evaluated at two temperatures; its results of
// all splits are those of the temperature that is better on val.
function systemName({ system, decoding }) {
  const cold = /^base-1(-greedy|-t[\d.]+)?$/.test(system) && /temperature=\[([\d.]+)\]/.exec(decoding || '');

  return cold ? 'base-1 at ' + cold[1] : system;
}

// evalName is the name of an evaluation, {id, folder, epoch, result}, for people.
function evalName(e) {
  const chunk = /^chunk-0*(\d+)$/.exec(e.result.system);
  const when = e.epoch > 0 ? ' after epoch ' + e.epoch : e.epoch < 0 ? ' (' + e.folder + ')' : '';

  return (chunk ? 'stage 1, chunk ' + chunk[1] : systemName(e.result)) + when + ', ' +
    (e.result.environment ? e.result.environment + ', ' : '') + e.result.split;
}

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
    { name: 'system', of: (x) => systemName(x.r), ask: 'system' },
    { name: 'environment', of: (x) => x.r.environment || '' },
    { name: 'protocol', of: (x) => x.r.protocol }, { name: 'split', of: (x) => x.r.split + choseOn(x.r.split) },
    { name: 'metric', of: (x) => x.name },
    { name: 'micro', num: true, of: (x) => percent(x.m.micro) },
    { name: 'macro', num: true, of: (x) => percent(x.m.macro) },
    { name: '95 % of micro (bootstrap)', num: true,
      of: (x) => (100 * x.m.low).toFixed(1) + ' to ' + (100 * x.m.high).toFixed(1) },
    { name: 'tasks right in full', num: true, of: (x) => x.r.successes + ' of ' + x.r.episodes },
  ];

  return html`<${Table} caption="Recorded tasks: rates of steps, no success rates" ask="recorded tasks"
    file=${doc.name + '-recorded'} columns=${columns} rows=${rows} />`;
}

const where = (r) => (r.environment ? r.environment + ', ' : '') + r.split;

// played returns the success rates among results.
const played = (results) => (results || []).filter((r) => !r.protocol && r.episodes > 0);

const ofGroup = (r) => ({ group: where(r), system: systemName(r), result: r });

function Rates({ doc, results, title }) {
  if (results.length === 0) return null;
  const columns = [
    { name: 'system', of: systemName, ask: 'system' },
    { name: 'split', of: (r) => where(r) + choseOn(r.split), ask: 'test' },
    { name: 'right', num: true, of: (r) => r.successes + ' of ' + r.episodes },
    { name: 'rate', num: true, of: rateOf },
    { name: '95 % interval', num: true, of: intervalOf, ask: 'Wilson interval' },
    { name: 'missing', num: true, optional: true, of: (r) => r.missing || '', ask: 'failed' },
    ...costColumns((r) => r),
  ];
  const decoding = [...new Map(results.filter((r) => r.decoding).map((r) => [systemName(r), r.decoding]))];

  return html`<${Intervals} name=${doc.name} title=${title} rows=${played(results).map(ofGroup)} />
    <${Table} caption=${title} file=${doc.name + '-results'} columns=${columns} rows=${results} />
    ${decoding.length > 0 && html`<details><summary>How answers are sampled</summary>
      <${Fields} of=${decoding} /></details>`}`;
}

// Intervals draws every rate with its interval: a line for each system, by group.
function Intervals({ name, title, rows }) {
  const svg = useRef(null);
  if (rows.length === 0) return null;
  const groups = [...new Set(rows.map((x) => x.group))];
  const systems = [...new Set(rows.map((x) => x.system))];
  const [W, L, R, line] = [480, 118, 58, 18];
  const px = (v) => L + v * (W - L - R);
  let y = 4;
  const placed = groups.flatMap((group) => {
    y += 19;
    const heading = { group, y };

    return [heading, ...rows.filter((x) => x.group === group).map((x) => ({ ...x, y: y += line }))];
  });
  const H = y + 30;
  const say = (x) => x.system + ' on ' + x.group + ': ' + rateOf(x.result) + ' [' + intervalOf(x.result) + ']';

  return html`<figure class="chart intervals"><figcaption>${title}<${Ask} of="Wilson interval" /> <${Save}
    name=${name + '-rates'} svg=${() => svg.current} /></figcaption>
    <svg ref=${svg} viewBox="0 0 ${W} ${H}" role="img"
      aria-label=${title + '. ' + rows.map(say).join('; ')}>
      ${ticks(0, 1).map((t) => html`<g class="grid"><line x1=${px(t)} x2=${px(t)} y1="8" y2=${H - 22} /></g>
        <text class="tick" x=${px(t)} y=${H - 6} text-anchor="middle">${percent(t)}</text>`)}
      ${placed.map((x) => (x.result ? html`<g class=${'series s' + (systems.indexOf(x.system) % 6)}>
        <title>${say(x)}</title>
        <text x=${L - 10} y=${x.y + 4} text-anchor="end">${fitting(x.system, L - 20)}</text>
        <path class="line" d=${`M${px(x.result.low)} ${x.y}H${px(x.result.high)}m0 -4v8M${px(x.result.low)} ${x.y - 4}v8`} />
        <g class="dot">${SHAPES[systems.indexOf(x.system) % SHAPES.length](px(x.result.rate), x.y)}</g>
        <text x=${W - R + 10} y=${x.y + 4}>${rateOf(x.result)}</text></g>`
        : html`<text class="group" x="4" y=${x.y + 4}>${x.group}${choseOn(x.group)}</text>`))}
    </svg></figure>`;
}

function Cost({ s, name }) {
  if (!s.spending || s.spending.length === 0) return null;
  const priced = s.spending.some((x) => x.money > 0);
  const columns = [
    { name: 'role', of: (x) => x.role }, { name: 'model', of: (x) => x.model },
    { name: 'epoch', num: true, of: (x) => (x.epoch === 0 ? 'stage 1' : x.epoch) },
    { name: 'calls', num: true, of: (x) => whole(x.calls) },
    { name: 'tokens', num: true, of: (x) => (x.estimated ? '≈ ' : '') + whole(x.tokens), ask: 'tokens',
      title: '≈: estimated for some calls, of which the server reports none' },
    { name: 'cost', num: true, of: (x) => (priced ? x.money.toFixed(4) : '–'), ask: 'cost' },
  ];

  return html`<${Table} caption=${'Cost by role: ' + (priced ? s.spent.money.toFixed(4) + ' in all'
    : 'the specification has no prices') + (s.forecast ? ', about ' + s.forecast.toFixed(2) + ' at the end' : '')}
      file=${name + '-cost'} columns=${columns} rows=${s.spending} />`;
}
