'use strict';

// Screen draws an observation as boxes with text, over the screenshot if there is one, and a marker where an action
// happened. Elements that the chosen agent did not see are hatched.
function Screen({ screen, image, action, seen, small, name }) {
  if (!screen || !screen.elements) return html`<p class="note">The record of this screen has no picture.</p>`;
  const W = screen.width || Math.max(360, ...screen.elements.map((e) => e.bounds[0] + e.bounds[2]));
  const H = screen.height || Math.max(640, ...screen.elements.map((e) => e.bounds[1] + e.bounds[3]));
  const sees = seen ? new Set(seen) : null;
  const target = action && action.on !== undefined ? screen.elements.find((e) => e.i === action.on) : null;
  const shown = screen.elements.filter((e) => e.visible);
  const bottom = small ? Math.min(H, Math.max(H / 4,
    ...shown.map((e) => e.bounds[1] + e.bounds[3] + 12))) : H; // thumbnails leave out what is empty
  const title = (name || 'screen') + ': ' + shown.map((e) => words(e)).join(', ').slice(0, 2000) +
    (action ? '. Executed: ' + action.words : '');

  return html`<svg class=${'screen' + (small ? ' small' : '') + (image ? ' pictured' : '')}
    viewBox="0 0 ${W} ${bottom}" role="img" aria-label=${title}>
    <rect class="page" x="0" y="0" width=${W} height=${H} />
    ${image && html`<image href=${'image/' + image + '.png'} width=${W} height=${H} preserveAspectRatio="xMinYMin" />`}
    ${shown.map((e) => html`<${Box} e=${e} W=${W} unseen=${sees && !sees.has(e.i)} target=${e === target}
      small=${small} />`)}
    ${target && html`<${Marker} e=${target} type=${action.type} />`}
  </svg>`;
}

const words = (e) => [e.role, e.text || e.desc, e.value && 'holds ' + e.value, ...(e.state ||
  [])].filter(Boolean).join(' ');

const textOf = (e) => (e.text || e.desc || (e.editable ? e.value || '' : '')) + (e.editable && e.text &&
  e.value ? ': ' + e.value : '');

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

function Box({ e, W, unseen, target, small }) {
  const [x, y, w, height] = e.bounds;
  const kinds = ['box', 'role-' + String(e.role).replace(/[^a-z]/gi, ''), e.occluded && 'covered', unseen && 'unseen',
    target && 'target', e.editable && 'editable'].filter(Boolean).join(' ');
  const room = Math.min(w, W - x); // what lies outside of the page is cut off
  const text = fitting(textOf(e), room - 8);
  const left = leftwards(text);
  const on = (e.state || []).some((s) => ['on', 'checked', 'selected'].includes(s));

  return html`<g class=${kinds}>
    <title>${e.id || e.i} ${words(e)}${unseen ? ' (this agent did not see it)' : ''}${e.occluded ? ' (covered)' : ''}
      </title>
    <rect x=${x} y=${y} width=${Math.max(w, 1)} height=${Math.max(height, 1)} rx="3" />
    <svg x=${x} y=${y} width=${Math.max(room, 1)} height=${Math.max(height, 1)}>
      ${on && html`<text class="tick" x=${w - 12} y=${height / 2 + 4}>✓</text>`}
      ${!small && height >= 9 && html`<text class="index" x=${room - 2} y="8" text-anchor="end">${e.id || e.i}</text>`}
      <text class="words" direction=${left ? 'rtl' : 'ltr'} x=${left ? room - 4 : 4} y=${Math.min(height / 2 + 4, 16)}>
        ${text}</text></svg>
  </g>`;
}

// Marker shows where an action happened: the centre of the element that took it.
function Marker({ e, type }) {
  const [x, y, w, height] = e.bounds;
  const [cx, cy] = [x + w / 2, y + height / 2];

  return html`<g class="marker" aria-hidden="true">
    <circle cx=${cx} cy=${cy} r="13" /><circle cx=${cx} cy=${cy} r="3.5" class="dot" />
    <path d="M${cx - 20} ${cy}h10M${cx + 10} ${cy}h10M${cx} ${cy - 20}v10M${cx} ${cy + 10}v10" />
    <text x=${cx} y=${Math.max(10, y - 5)} text-anchor="middle">${type}</text>
  </g>`;
}
