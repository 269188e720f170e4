'use strict';

// costOf returns what a result cost. Figures that are not recorded are undefined.
function costOf(r) {
  const c = r.cost?.calls ? r.cost : undefined;
  const per = (sum, n) => (sum !== undefined && n ? sum / n : undefined);
  const tokens = c && c.prompt + c.answer;

  return { perTurn: per(c?.prompt, c?.turns), perEpisode: per(tokens, r.episodes), tokens: per(tokens, r.successes),
    calls: per(c?.calls, r.successes), money: per(r.money || undefined, r.successes) };
}

// costColumns are the columns of a table of systems about what they cost. Of returns the result of a row.
const costColumns = (of) => {
  const column = (name, key, write, title, ask) => ({ name, num: true, wrap: true, optional: true, title, ask, of: (row) => {
    const r = of(row);
    const value = r && costOf(r)[key];

    return value === undefined ? '–' : write(value);
  } });
  const rounded = (x) => whole(Math.round(x));

  return [
    column('prompt tokens per agent and step', 'perTurn', rounded, 'the prompts of all rounds'),
    column('tokens per success', 'tokens', rounded, 'of the prompts and answers of all agents',
      'tokens per success'),
    column('calls per success', 'calls', (x) => x.toFixed(1)),
    column('cost per success', 'money', (x) => x.toFixed(4), 'at the prices of the specification', 'cost'),
  ];
};

// frontier returns the points that no other one beats: none has as much success with fewer tokens.
function frontier(points) {
  const out = [];
  for (const p of [...points].sort((a, b) => a.x - b.x || b.y - a.y)) {
    if (out.length === 0 || p.y > out.at(-1).y) out.push(p);
  }

  return out;
}

const LINE = 13; // height of a label, in pixels

// covers reports whether two boxes, each [left, top, right, bottom], have common pixels.
const covers = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

// labelled returns points, each {x, y, low, high, width} in pixels, with the box of their label: the place next to the
// point that covers no other label and no interval, on the right, on the left, or further up or down.
function labelled(points, [W, H]) {
  const taken = points.map((p) => [p.x - 6, Math.min(p.high, p.y - 6), p.x + 6, Math.max(p.low, p.y + 6)]);

  return points.map((p) => {
    const at = (left, y) => [left, y - LINE / 2, left + p.width, y + LINE / 2];
    const shifts = Array.from({ length: 21 }, (_, i) => (i % 2 ? -1 : 1) * Math.ceil(i / 2) * LINE);
    const places = shifts.flatMap((d) => [at(p.x + 8, p.y + d), at(p.x - 8 - p.width, p.y + d)])
      .filter(([l, t, r, b]) => l >= 0 && r <= W && t >= 0 && b <= H);
    const box = places.find((place) => !taken.some((other) => covers(place, other))) || at(p.x + 8, p.y);
    taken.push(box);

    return { ...p, box };
  });
}

// Frontier draws success against tokens per episode: a point with its interval for each system, {name, x, y, low,
// high}, and a line through those that no other one beats.
function Frontier({ title, name, points }) {
  const svg = useRef(null);
  if (points.length === 0) return null;
  const [W, H, L, R, T, B] = [460, 250, 58, 12, 12, 34];
  const right = 1.25 * points.reduce((m, p) => Math.max(m, p.x), 1);
  const px = (v) => L + (v / right) * (W - L - R);
  const py = (v) => H - B - v * (H - T - B);
  const best = frontier(points);
  const line = best.map((p, i) => (i ? 'L' : 'M') + px(p.x).toFixed(1) + ' ' + py(p.y).toFixed(1)).join('');
  const labels = labelled(points.map((p) => {
    const text = fitting(p.name, W / 2);

    return { p, text, width: pen.measureText(text).width, x: px(p.x), y: py(p.y), low: py(p.low), high: py(p.high) };
  }), [W, H - B]);
  const say = (p) => p.name + ': ' + percent(p.y) + ' [' + percent(p.low) + ', ' + percent(p.high) + '] at ' +
    whole(Math.round(p.x)) + ' tokens per episode';
  const csv = () => [['system', 'tokens per episode', 'success', 'low', 'high'],
    ...points.map((p) => [p.name, p.x, p.y, p.low, p.high])];

  return html`<figure class="chart frontier"><figcaption>${title}<${Ask} of="frontier" /> <${Save} name=${name} csv=${csv}
    svg=${() => svg.current} /></figcaption>
    <svg ref=${svg} viewBox="0 0 ${W} ${H}" role="img" aria-label=${title + '. ' + points.map(say).join('; ')}>
      ${ticks(0, 1).map((t) => html`<g class="grid"><line x1=${L} x2=${W - R} y1=${py(t)} y2=${py(t)} />
        <text x=${L - 6} y=${py(t) + 4} text-anchor="end">${percent(t)}</text></g>`)}
      ${ticks(0, right).map((t) => html`<text class="tick" x=${px(t)} y=${H - B + 16} text-anchor="middle">${whole(t)}
        </text>`)}
      <text class="tick" x=${(L + W - R) / 2} y=${H - 4} text-anchor="middle">tokens per episode</text>
      ${best.length > 1 && html`<g class="series s5"><path class="line" d=${line} stroke-dasharray="6 3" /></g>`}
      ${labels.map(({ p, text, x, y, low, high, box }, i) => html`<g class=${'series s' + (i % 6)}>
        <title>${say(p)}</title>
        <path class="line" d=${`M${x} ${low}V${high}M${x - 4} ${low}h8M${x - 4} ${high}h8`} />
        ${Math.abs((box[1] + box[3]) / 2 - y) > 2 && html`<path class="line lead" d=${`M${x} ${y}L${box[0] < x
          ? box[2] : box[0]} ${(box[1] + box[3]) / 2}`} />`}
        <g class="dot">${SHAPES[i % SHAPES.length](x, y)}</g><text x=${box[0]} y=${box[3] - 3}>${text}</text></g>`)}
    </svg></figure>`;
}

// Frontiers draws a picture for each group of results, {group, system, result}, of which at least two have tokens.
function Frontiers({ name, rows }) {
  const groups = [...new Set(rows.map((x) => x.group))];
  const drawn = groups.map((group) => {
    const known = rows.filter((x) => x.group === group && costOf(x.result).perEpisode !== undefined);

    return [group, known.map(({ system, result }) => ({ name: system, x: costOf(result).perEpisode, y: result.rate,
      low: result.low, high: result.high }))];
  }).filter(([, points]) => points.length > 1);
  if (drawn.length === 0) return null;

  return html`<div class="charts">${drawn.map(([group, points]) => html`<${Frontier} key=${group}
    name=${name + '-tokens-' + group.replace(/[^A-Za-z0-9.-]+/g, '-')} points=${points}
    title=${'Success against tokens on ' + group + ', with Wilson intervals at 95 %'} />`)}</div>`;
}

// pooled returns the result of a system over all seeds. Sums of which a seed lacks a part are undefined.
function pooled(results) {
  const add = (of) => (results.every((r) => of(r) !== undefined) ? sum(results.map(of)) : undefined);
  const [episodes, successes] = [sum(results.map((r) => r.episodes)), sum(results.map((r) => r.successes))];
  const cost = results.every((r) => r.cost) ? { calls: add((r) => r.cost.calls), prompt: add((r) => r.cost.prompt),
    answer: add((r) => r.cost.answer), turns: add((r) => r.cost.turns) } : undefined;

  return { episodes, successes, cost, money: add((r) => r.money), protocol: results.find((r) => r.protocol)?.protocol,
    rate: episodes ? successes / episodes : 0, ...(episodes ? wilson(successes, episodes) : { low: 0, high: 1 }) };
}
