'use strict';

// Series differ by dash and marker as well as by colour. There are six colours, so that a seventh series, which has the
// first one's, has another dash and marker.
const DASHES = ['', '6 3', '2 3', '8 3 2 3', '12 4', '3 2 3 6', '1 3'];
const SHAPES = [
  (x, y) => html`<circle cx=${x} cy=${y} r="3.5" />`,
  (x, y) => html`<rect x=${x - 3} y=${y - 3} width="6" height="6" />`,
  (x, y) => html`<path d="M${x} ${y - 4.5}l4.5 8h-9z" />`,
  (x, y) => html`<path d="M${x} ${y + 4.5}l4.5 -8h-9z" />`,
  (x, y) => html`<path d="M${x - 4} ${y - 4}l8 8m0 -8l-8 8" />`,
  (x, y) => html`<path d="M${x} ${y - 4.5}l4.5 4.5l-4.5 4.5l-4.5 -4.5z" />`,
  (x, y) => html`<path d="M${x - 4.5} ${y}h9m-4.5 -4.5v9" />`,
];

// ticks returns some four round numbers from low to high.
function ticks(low, high) {
  const raw = (high - low || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw) || raw;
  const out = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) {
    out.push(Math.abs(t) < step * 1e-9 ? 0 : t);
  }

  return out;
}

// rounded writes three decimals, or two digits of what would otherwise be zero.
const rounded = (v) => String(Math.abs(v) >= 1e-3 ? Math.round(v * 1000) / 1000 : Number(v.toPrecision(2)));

// Chart draws series, each {name, points: [{x, y, low, high}]}, over x with intervals where they are known. A point
// without y is a gap, with its reason in why: it is marked, and no line crosses it.
function Chart({ title, name, series, low, high, format, x: across, xs: marks, ask }) {
  const svg = useRef(null);
  const known = (p) => p.y !== undefined && p.y !== null;
  const drawn = series.filter((s) => s.points.some(known)).map((s) => ({ ...s, points: s.points.filter(known),
    parts: pieces(s.points, known), gaps: s.points.filter((p) => !known(p)) }));
  const write = format || rounded;
  const mark = (v) => (Math.abs(v) >= 1e6 ? v / 1e6 + ' M' : write(v)); // what is wider does not fit
  if (drawn.length === 0) return null;

  const all = drawn.flatMap((s) => s.points);
  const ys = all.flatMap((p) => [p.y, p.low ?? p.y, p.high ?? p.y]);
  const least = (vs, first) => vs.reduce((a, b) => Math.min(a, b), first); // as arguments, many would be too many
  const most = (vs, first) => vs.reduce((a, b) => Math.max(a, b), first);
  const [y0, top] = [low ?? least(ys, 0), high ?? most(ys, 0)];
  const y1 = top > y0 ? top : y0 + 1; // nothing but zeros
  const along = [...all, ...drawn.flatMap((s) => s.gaps)].map((p) => p.x);
  const [x0, x1] = [least(along, Infinity), most(along, -Infinity)];
  const [W, H, L, R, T, B] = [460, 230, 58, 12, 12, 34];
  const px = (v) => L + ((v - x0) / (x1 - x0 || 1)) * (W - L - R);
  const py = (v) => H - B - ((v - y0) / (y1 - y0 || 1)) * (H - T - B);
  const path = (ps) => ps.map((p, i) => (i ? 'L' : 'M') + px(p.x).toFixed(1) + ' ' + py(p.y).toFixed(1)).join('');
  const band = (ps) => {
    const known = ps.filter((p) => p.low !== undefined && p.high !== undefined);
    if (known.length < 2) return '';

    return path(known.map((p) => ({ x: p.x, y: p.high }))) + 'L' +
      path([...known].reverse().map((p) => ({ x: p.x, y: p.low }))).slice(1) + 'Z';
  };
  const xs = x1 - x0 <= 12 && Number.isInteger(x0) && Number.isInteger(x1) && !marks
    ? Array.from({ length: x1 - x0 + 1 }, (_, i) => x0 + i) : ticks(x0, x1);
  const label = marks || ((v) => v);
  const csv = () => [['series', across || 'epoch', 'value', 'low', 'high'],
    ...drawn.flatMap((s) => s.points.map((p) => [s.name, p.x, p.y, p.low ?? '', p.high ?? '']))];
  const words = drawn.map((s) => s.name + ': ' + s.points.map((p) => label(p.x) + ' ' + write(p.y)).join(', ') +
    s.gaps.map((p) => ', ' + label(p.x) + ' not measured').join('')).join('; ');

  return html`<figure class="chart">
    <figcaption>${title}${ask && html`<${Ask} of=${ask} />`} <${Save} name=${name} csv=${csv}
      svg=${() => svg.current} /></figcaption>
    <svg ref=${svg} viewBox="0 0 ${W} ${H}" role="img" aria-label=${title + '. ' + words}>
      ${ticks(y0, y1).map((t) => html`<g class="grid"><line x1=${L} x2=${W - R} y1=${py(t)} y2=${py(t)} />
        <text x=${L - 6} y=${py(t) + 4} text-anchor="end">${mark(t)}</text></g>`)}
      ${xs.map((t) => html`<text class="tick" x=${px(t)} y=${H - B + 16} text-anchor="middle">${label(t)}</text>`)}
      <text class="tick" x=${(L + W - R) / 2} y=${H - 4} text-anchor="middle">${across || 'epoch'}</text>
      ${drawn.map((s, i) => html`<g class="series s${i % 6}">
        <path class="band" d=${band(s.points)} />
        ${s.parts.map((ps) => html`<path class="line" d=${path(ps)} stroke-dasharray=${DASHES[i % DASHES.length]} />`)}
        ${s.gaps.map((p) => html`<g class="gap"><title>${s.name}, ${across || 'epoch'} ${label(p.x)}: not measured${
          p.why ? ': ' + p.why : ''}</title><path d=${`M${px(p.x) - 4} ${H - B - 5 - 7 * i}l8 8m0 -8l-8 8`} /></g>`)}
        ${s.points.length <= 40 && s.points.map((p) => html`<g class="dot">
          <title>${s.name}, ${across || 'epoch'} ${label(p.x)}: ${write(p.y)}${p.low !== undefined
            ? ' [' + write(p.low) + ', ' + write(p.high) + ']' : ''}</title>
          ${SHAPES[i % SHAPES.length](px(p.x), py(p.y))}</g>`)}
      </g>`)}
    </svg>
    ${drawn.length > 1 && html`<ul class="legend">${drawn.map((s, i) => html`<li class="series s${i % 6}">
      <svg viewBox="0 0 28 10" aria-hidden="true">
      <path class="line" d="M0 5H28" stroke-dasharray=${DASHES[i % DASHES.length]} />
      <g class="dot">${SHAPES[i % SHAPES.length](14, 5)}</g></svg>${s.name}</li>`)}</ul>`}
    ${drawn.some((s) => s.gaps.length > 0) && html`<p class="note">× not measured<${Ask} of="not measured" /></p>`}
  </figure>`;
}

// pieces returns the points between gaps.
function pieces(points, known) {
  const out = [[]];
  points.forEach((p) => (known(p) ? out.at(-1).push(p) : out.push([])));

  return out.filter((ps) => ps.length > 0);
}

// Graph draws who reads whom. Agents stand on a circle; an edge a→b means that b reads a.
function Graph({ agents, edges, marks, chosen, onChoose, small }) {
  const size = small ? 92 : 190;
  const r = size / 2 - (small ? 16 : 26);
  const at = (i) => [size / 2 + r * Math.sin((2 * Math.PI * i) / agents),
    size / 2 - r * Math.cos((2 * Math.PI * i) / agents)];
  const dot = small ? 10 : 16;
  const words = edges.length ? edges.map(([a, b]) => b + ' reads ' + a).join(', ') : 'no agent reads another';
  const line = ([a, b]) => {
    const [[x, y], [u, v]] = [at(a), at(b)];
    const d = Math.hypot(u - x, v - y) || 1;
    const [dx, dy] = [(u - x) / d, (v - y) / d];
    const [ex, ey] = [u - dx * (dot + 2), v - dy * (dot + 2)];
    const [sx, sy] = [x + dx * dot, y + dy * dot];
    const k = small ? 5 : 8;

    return html`<g class=${'edge' + (chosen === b ? ' in' : '') + (chosen === a ? ' out' : '')}>
      <line x1=${sx} y1=${sy} x2=${ex} y2=${ey} />
      <path d=${'M' + [[ex, ey], [ex - k * (dx + dy / 2), ey - k * (dy - dx / 2)],
        [ex - k * (dx - dy / 2), ey - k * (dy + dx / 2)]].join('L') + 'Z'} />
      <title>${b} reads ${a}</title></g>`;
  };

  return html`<svg class="graph" viewBox="0 0 ${size} ${size}" role=${onChoose ? 'group' : 'img'}
    aria-label=${'graph: ' + words}>
    ${edges.map(line)}
    ${Array.from({ length: agents }, (_, i) => {
      const [x, y] = at(i);
      const name = 'agent ' + i + (marks ? ', its last answer: ' + labelName(marks[i]) : '');

      return html`<g class=${'node ' + (marks ? labelClass(marks[i]) : '') + (chosen === i ? ' chosen' : '')}
        ...${onChoose && pressed(() => onChoose(i), { 'aria-pressed': chosen === i, 'aria-label': name })}>
        <circle cx=${x} cy=${y} r=${dot} /><text x=${x} y=${y + 4} text-anchor="middle">${i}</text>
        <title>${name}</title></g>`;
    })}
  </svg>`;
}

// pressed makes of a part of a drawing a button for mouse and keyboard.
const pressed = (f, names) => ({ role: 'button', tabindex: 0, onClick: f, onKeyDown: (e) => {
  if (e.key !== 'Enter' && e.key !== ' ') return;
  e.preventDefault();
  f();
}, ...names });
