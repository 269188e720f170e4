'use strict';

// Formats of figures. Text of pages and models is only ever handed to preact, which escapes it.
const percent = (x) => (100 * x).toFixed(1) + ' %';
// rateOf returns the rate of a result. Without an episode there is none.
const rateOf = (r) => (r && r.episodes > 0 ? percent(r.rate) : '–');
const intervalOf = (r) => (r && r.episodes > 0
  ? (100 * r.low).toFixed(1) + ' to ' + (100 * r.high).toFixed(1) : '–');
const whole = (n) => Number(n).toLocaleString('en');
const nats = (x) => (x >= 0 ? '+' : '−') + Math.abs(x).toFixed(2);
const money = (x) => (x ? ', cost ' + x.toFixed(4) : '');
const tokens = (u) => u && (u.estimated ? 'about ' : '') + u.prompt + ' in' +
  (u.cached ? ', ' + u.cached + ' of them cached' : '') + ', ' + u.answer + ' out' + money(u.money);
const day = (t) => (t ? t.slice(0, 16).replace('T', ' ') : '');
const short = (digest) => (digest ? digest.slice(0, 12) + '…' : '');
const sum = (xs) => xs.reduce((a, b) => a + b, 0);
const by = (f) => (a, b) => (f(a) < f(b) ? -1 : f(a) > f(b) ? 1 : 0);

// href returns the address of a page: its parts, and what it is asked for.
function href(parts, query) {
  const q = new URLSearchParams(Object.entries(query || {}).filter(([, v]) => v !== '' && v !== undefined &&
    v !== null));
  const tail = q.toString();

  return '#/' + parts.map((p) => encodeURIComponent(p)).join('/') + (tail ? '?' + tail : '');
}

function route() {
  const [path, tail] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const query = Object.fromEntries(new URLSearchParams(tail || ''));
  let parts = [];
  try {
    parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    parts = ['?']; // an address that was cut
  }

  return { parts, query };
}

// go opens a page. It replaces the entry of the history where the page stays the same.
function go(parts, query, replace) {
  const to = href(parts, query);
  if (to === location.hash) return;
  if (replace) {
    history.replaceState(null, '', to);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else {
    location.hash = to;
  }
}

// marks of labels: never by colour alone.
const MARKS = { 1: ['+', 'right'], 0: ['−', 'wrong'], '-1': ['?', 'uncertain'] };
const labelName = (l) => (l === undefined || l === null ? 'not graded' : MARKS[l][1]);
const labelClass = (l) => (l === undefined || l === null ? 'none' : MARKS[l][1]);

function Label({ value }) {
  const name = labelName(value);
  const mark = name === 'not graded' ? '·' : MARKS[value][0];

  return html`<span class="label ${labelClass(value)}" role="img" aria-label=${name} title=${name}>${mark}</span>`;
}

const STATES = { solved: '✓', 'not solved': '✗', failed: '!', open: '…' };

function State({ value }) {
  return html`<span class="state ${value.replace(' ', '-')}"><span aria-hidden="true">${STATES[value] || '?'}</span>
    ${' '}${value}</span>`;
}

// plain returns the value of a column by which rows are sorted: a figure, a text, or undefined.
const plain = (c) => (r) => {
  const v = (c.by || c.csv || c.of)(r);
  if (v === null || v === undefined || v === '' || v === '–' || typeof v === 'object') return undefined;
  const n = typeof v === 'string' ? Number.parseFloat(v.replaceAll(',', '').replace('−', '-')) : v;

  return c.num && Number.isFinite(n) ? n : typeof v === 'string' ? v.toLowerCase() : v;
};

// sorted returns rows in the order of a value, or backwards. Rows without the value come last.
function sorted(rows, value, back) {
  const known = rows.filter((r) => value(r) !== undefined).sort(by(value));

  return [...(back ? known.reverse() : known), ...rows.filter((r) => value(r) === undefined)];
}

// Head is a heading of a column that sorts by it. Order is [name of the column, backwards].
function Head({ c, order, onOrder }) {
  const [name, back] = order || [];
  const turn = () => onOrder([c.name, name === c.name ? !back : !!c.num]);

  return html`<button type="button" class="sort" onClick=${turn} title=${c.title}>${c.name}${name === c.name
    ? html`<span aria-hidden="true">${back ? ' ▾' : ' ▴'}</span>` : ''}</button>${c.ask && html`<${Ask} of=${c.ask} />`}`;
}

const sortOf = (c, order) => (order && order[0] === c.name ? (order[1] ? 'descending' : 'ascending') : undefined);

// Table draws columns, each {name, of, num, title, ask, by, optional}, of rows. Headings sort. An optional column is left
// out if it has nothing for any row.
function Table({ columns: offered, rows: all, caption, file, ask }) {
  const [order, setOrder] = useState(null);
  const columns = offered.filter((c) => !c.optional || all.some((r) => !['', '–', undefined].includes(c.of(r))));
  const column = order && columns.find((c) => c.name === order[0]);
  const rows = column ? sorted(all, plain(column), order[1]) : all;
  const csv = () => [columns.map((c) => c.name), ...rows.map((r) => columns.map((c) => {
    const v = (c.csv || c.of)(r);

    return v === null || v === undefined || typeof v === 'object' ? '' : v;
  }))];

  return html`<figure class="table">
    ${caption && html`<figcaption>${caption}${ask && html`<${Ask} of=${ask} />`} ${file && html`<${Save} name=${file} csv=${csv} json=${() => rows} />`}
    </figcaption>`}
    <div class="scroll" tabindex="0" role="region" aria-label=${caption || 'table'}><table>
      <thead><tr>${columns.map((c) => html`<th scope="col" class=${(c.num ? 'num' : '') + (c.wrap ? ' wrap' : '')}
        aria-sort=${sortOf(c, order)}><${Head} c=${c} order=${order} onOrder=${setOrder} /></th>`)}
      </tr></thead>
      <tbody>${rows.map((r) => html`<tr>${columns.map((c, i) => (i === 0
        ? html`<th scope="row" class=${c.num ? 'num' : ''}>${c.of(r)}</th>`
        : html`<td class=${(c.num ? 'num' : '') + (c.shade ? ' shade' : '')} style=${c.shade ? c.shade(r) : undefined}>
          ${c.of(r)}</td>`))}</tr>`)}</tbody>
    </table></div>
  </figure>`;
}

// drawnIn returns a function that finds the drawing next to a button: in the same element of a kind.
const drawnIn = (selector) => (e) => e.target.closest(selector).querySelector('svg.graph, svg.screen');

// Save offers what is shown as files. svg returns the drawing, given the event of the button.
function Save({ name, csv, json, svg }) {
  // A text that a spreadsheet would take for a formula gets an apostrophe in front. Figures are none.
  const inert = (v) => (/^[=+\-@\t\r\n＝＋－＠]/.test(v) && !/^[-+\d.,;()% −–]*$/.test(v) ? "'" + v : String(v));
  const quoted = (v) => (/[",\n\r]/.test(inert(v)) ? '"' + inert(v).replaceAll('"', '""') + '"' : inert(v));
  const kinds = {
    SVG: svg && (async (e) => save(name + '.svg', 'image/svg+xml', await drawing(svg(e)))),
    PNG: svg && ((e) => savePicture(name + '.png', svg(e))),
    CSV: csv && (() => save(name + '.csv', 'text/csv',
      csv().map((r) => r.map(quoted).join(',')).join('\r\n') + '\r\n')),
    JSON: json && (() => save(name + '.json', 'application/json', JSON.stringify(json(), null, 2) + '\n')),
  };

  return html`<span class="save">${Object.entries(kinds).filter(([, f]) => f).map(([k, f]) => html`
    <button type="button" onClick=${f} title=${'save ' + name + ' as ' + k}>${k}</button>`)}</span>`;
}

function save(name, type, content) {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

// drawing returns an SVG element as a text that needs no style sheet and no other file.
async function drawing(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll('*')];
  [copy, ...copy.querySelectorAll('*')].forEach((e, i) => {
    const style = getComputedStyle(from[i]);
    for (const p of ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'font-size', 'font-family',
      'font-weight', 'text-anchor', 'direction', 'display', 'paint-order']) {
      e.setAttribute(p, style.getPropertyValue(p));
    }
    ['class', 'tabindex'].forEach((a) => e.removeAttribute(a));
  });
  await Promise.all([...copy.querySelectorAll('image')].map(async (e) => e.setAttribute('href',
    await inside(e.getAttribute('href')))));
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');

  return new XMLSerializer().serializeToString(copy);
}

// inside returns a file as an address that contains it.
async function inside(address) {
  const blob = await (await fetch(address)).blob();

  return new Promise((done) => {
    const r = new FileReader();
    r.onload = () => done(r.result);
    r.readAsDataURL(blob);
  });
}

async function savePicture(name, svg) {
  const { width, height } = svg.viewBox.baseVal;
  const image = new Image();
  image.onload = () => {
    const c = document.createElement('canvas');
    const scale = Math.max(2, 600 / width); // small drawings are enlarged
    [c.width, c.height] = [scale * width, scale * height];
    const ctx = c.getContext('2d');
    ctx.fillStyle = getComputedStyle(document.body).backgroundColor;
    ctx.fillRect(0, 0, c.width, c.height);
    ctx.drawImage(image, 0, 0, c.width, c.height);
    c.toBlob((b) => save(name, 'image/png', b));
  };
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(await drawing(svg));
}

function Trouble({ error }) {
  return html`<p class="trouble" role="alert">${error.message}</p>`;
}

const Wait = () => html`<p class="wait" role="status">Loading …</p>`;

// Alone is a page that has nothing else yet.
function Alone({ name, error }) {
  return html`<main id="main"><h1>${name}</h1>${error ? html`<${Trouble} error=${error} />` : html`<${Wait} />`}</main>`;
}

// Short says that a report has no whole episodes of a run.
const Short = () => html`<p class="note">This report has only lines about these episodes: a report that names the run
  has the whole ones.</p>`;

// Fields shows names with values, leaving out what is empty.
function Fields({ of }) {
  return html`<dl class="fields">
    ${of.filter(([, v]) => v !== undefined && v !== null && v !== '').map(([k, v]) => html`
    <div><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`;
}
