'use strict';

// Screen draws an observation as boxes with text, over the screenshot if there is one, and a marker where an action
// happened. Elements that the chosen agent did not see are shaded, and those of them that peers named to it have a mark.
function Screen({ screen, image, action, seen, told, small, name }) {
  if (!screen || !screen.elements) return html`<p class="note">The record of this screen has no picture.</p>`;
  const W = screen.width || Math.max(360, ...screen.elements.map((e) => e.bounds[0] + e.bounds[2]));
  const H = screen.height || Math.max(640, ...screen.elements.map((e) => e.bounds[1] + e.bounds[3]));
  const sees = seen ? new Set(seen) : null;
  const target = action && action.on !== undefined ? screen.elements.find((e) => e.i === action.on) : null;
  const touch = touchOf(action, target, screen.elements, [W, H]);
  const shown = screen.elements.filter((e) => e.visible);
  const bottom = small || !image ? Math.min(H, Math.max(H / 4,
    ...shown.map((e) => e.bounds[1] + e.bounds[3] + 12),
    ...(touch ? [touch.at, touch.to || touch.at].map((p) => p[1] + 20) : []))) : H; // drawings leave out what is empty
  const title = (name || 'screen') + ': ' + shown.map((e) => words(e)).join(', ').slice(0, 2000) +
    (action ? '. Executed: ' + action.words : '');

  return html`<svg class=${'screen' + (small ? ' small' : '') + (image ? ' pictured' : '')}
    viewBox="0 0 ${W} ${bottom}" role="img" aria-label=${title}>
    <rect class="page" x="0" y="0" width=${W} height=${H} />
    ${image && html`<image href=${'image/' + image + '.png'} width=${W} height=${H} preserveAspectRatio="xMinYMin" />`}
    ${shown.map((e) => html`<${Box} e=${e} W=${W} unseen=${sees && !sees.has(e.i)} told=${told?.includes(e.i)} target=${e === target}
      small=${small} />`)}
    ${touch && html`<${Marker} touch=${touch} type=${action.type} W=${W} />`}
  </svg>`;
}

// SeenBy lists which elements of a screen an agent saw in a step, and which ones its peers named to it.
function SeenBy({ step, chosen }) {
  if (!step.divided) return null;
  if (!chosen) return html`<p class="note">Agents saw different parts of this screen: choose an agent to see which.</p>`;
  const agent = chosen[0];
  const seen = new Set(step.seen[agent] || []);
  const told = new Set(toldTo(step, chosen));
  const shown = step.screen.elements.filter((e) => e.visible && !e.occluded);
  const list = (elements) => html`<ul class="seen">${elements.map((e) => html`<li dir="auto">${e.id || e.i} ${words(e)}
    </li>`)}</ul>`;

  return html`<details class="seen-by" open><summary>Agent ${agent} saw ${seen.size} of ${shown.length} elements</summary>
    ${list(shown.filter((e) => seen.has(e.i)))}
    ${told.size > 0 && html`<p>Peers named to it:</p>${list(shown.filter((e) => told.has(e.i)))}`}</details>`;
}

// toldTo returns the elements that peers named to an agent by a round.
const toldTo = (step, [agent, round]) => step.cells.filter((c) => c.agent === agent && c.round <= round)
  .flatMap((c) => c.told || []);

const words = (e) => [e.role, e.text || e.desc, e.value && 'holds ' + e.value, ...(e.state ||
  [])].filter(Boolean).join(' ');

// textOf is the text of an element with its value.
const textOf = (e) => [e.text || e.desc, e.value !== e.text && e.value].filter(Boolean).join(': ');

// PLAIN are states that need no word: they are how an element usually is, or a sign shows them.
const PLAIN = ['focused', 'on', 'off', 'checked', 'unchecked', 'collapsed', 'expanded'];

// signOf is the sign of an element's state, as pages draw it: of a box, a circle, a switch, or what opens.
function signOf(e) {
  const is = (...names) => (e.state || []).some((s) => names.includes(s));
  const round = /radio/i.test(e.role);
  if (is('checked', 'on')) return round ? '◉ ' : '☑ ';
  if (is('unchecked', 'off') || /checkbox|switch|radio/i.test(e.role)) return round ? '○ ' : '☐ ';
  if (is('selected')) return '✓ ';

  return is('expanded') ? '▾ ' : is('collapsed') ? '▸ ' : '';
}

const pen = document.createElement('canvas').getContext('2d');
const FONT = '11.5px system-ui, sans-serif'; // that of .box text

// fitting returns as much of a text as fits into a width, in pixels.
function fitting(text, width) {
  pen.font = FONT;
  if (pen.measureText(text).width <= width) return text;
  const chars = Array.from(text);
  let [low, high] = [0, Math.min(chars.length, Math.ceil(width))]; // so many fit; so many do not
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (pen.measureText(chars.slice(0, mid).join('') + '…').width <= width) low = mid;
    else high = mid;
  }

  return low > 0 ? chars.slice(0, low).join('') + '…' : '';
}

// leftwards reports whether the first letter of a text is of a script that is written from right to left.
const leftwards = (text) => /^[^\p{L}]*[\p{sc=Arabic}\p{sc=Hebrew}\p{sc=Syriac}\p{sc=Thaana}\p{sc=Nko}]/u.test(text);

function Box({ e, W, unseen, told, target, small }) {
  const [x, y, w, height] = e.bounds;
  const kinds = ['box', 'role-' + String(e.role).replace(/[^a-z]/gi, ''), e.occluded && 'covered', unseen && 'unseen',
    told && 'told',
    target && 'target', e.editable && 'editable'].filter(Boolean).join(' ');
  const room = Math.min(w, W - x); // what lies outside of the page is cut off
  const sign = signOf(e);
  const text = fitting(sign + textOf(e), room - 8);
  const left = leftwards(text);
  const states = (e.state || []).filter((s) => !PLAIN.includes(s));
  const about = [e.role === 'text' ? '' : e.role, ...states].filter(Boolean).join(', ');

  return html`<g class=${kinds}>
    <title>${e.id || e.i} ${words(e)}${unseen ? ' (this agent did not see it)' : ''}${told ? ' (a peer named it)'
      : ''}${e.occluded ? ' (covered)' : ''}
      </title>
    <rect x=${x} y=${y} width=${Math.max(w, 1)} height=${Math.max(height, 1)} rx="3" />
    <svg x=${x} y=${y} width=${Math.max(room, 1)} height=${Math.max(height, 1)}>
      ${!small && height >= 9 && html`<text class="index" x=${room - 2} y="8" text-anchor="end">${e.id || e.i}</text>`}
      ${told && html`<text class="by" x=${room - 3} y=${height - 3} text-anchor="end">named by a peer</text>`}
      ${!small && about && height >= 26 && html`<text class="about" x="4" y=${height - 4}>${fitting(about, room * 1.2)}
        </text>`}
      <text class="words" direction=${left ? 'rtl' : 'ltr'} x=${left ? room - 4 : 4} y=${Math.min(height / 2 + 4, 16)}>
        ${text}</text></svg>
  </g>`;
}

// WAYS are the directions in which a finger moves.
const WAYS = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };

// touchOf returns where an action reached the screen, and where it ended if it moved: as recorded, or else the middle
// of the element that takes the input to the one that it names. A scroll moves the finger against its direction.
function touchOf(action, named, elements, [W, H]) {
  if (!action) return null;
  if (action.touch) return action.touch;
  const taker = named && named.target !== undefined ? elements.find((e) => e.i === named.target) || named : named;
  const [x, y, w, h] = taker ? taker.bounds : [0, 0, W, H];
  const at = [x + w / 2, y + h / 2];
  const way = WAYS[action.direction];
  if (!way) return taker ? { at } : null;
  const far = (action.type === 'swipe' ? 1 : -1) * Math.min(W, H) / 6;

  return { at: at.map((v, i) => v - far * way[i]), to: at.map((v, i) => v + far * way[i]) };
}

// Marker shows where an action happened. An arrow leads to where it ended.
function Marker({ touch, type, W }) {
  const [x, y] = touch.at;
  const [p, q] = touch.to || touch.at;
  const length = Math.hypot(p - x, q - y) || 1;
  const [u, v] = [10 * (p - x) / length, 10 * (q - y) / length]; // along the arrow

  return html`<g class="marker" aria-hidden="true">
    <circle cx=${x} cy=${y} r="13" /><circle cx=${x} cy=${y} r="3.5" class="dot" />
    ${touch.to ? html`<path class="arrow" d="M${x} ${y}L${p} ${q}M${p - u - v / 2} ${q - v + u / 2}L${p} ${q}L${
      p - u + v / 2} ${q - v - u / 2}" />`
      : html`<path d="M${x - 20} ${y}h10M${x + 10} ${y}h10M${x} ${y - 20}v10M${x} ${y + 10}v10" />`}
    <text x=${Math.min(Math.max(x, 30), W - 30)} y=${Math.max(10, Math.min(y, q) - 18)} text-anchor="middle">${type}
      </text>
  </g>`;
}
