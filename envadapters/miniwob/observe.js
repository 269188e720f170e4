'use strict';
// Observes the screen and does what a browser does outside of the page: lists of options and pickers. It runs after
// clock.js.
Object.assign(collabui, (() => {
  const MAX = 2000, TEXT = 500, DOT = 3, LIMIT = 3600000; // elements, characters, px, ms
  const { heard } = collabui;
  const HIDDEN = new Set(['query', 'sync-task-cover', 'reward-display', 'click-canvas', 'attention-canvas']);
  const NONE = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'LINK', 'META', 'TITLE', 'DATALIST']);
  const CONTROLS = new Set(['INPUT', 'SELECT', 'TEXTAREA', 'BUTTON']), DRAWN = { opacityProperty: true, visibilityProperty: true };
  const NOBODY = Object.freeze([]);
  const GROUPS = new Set(['HTML', 'BODY', 'UL', 'OL', 'DL', 'TABLE', 'TBODY', 'THEAD', 'FORM', 'FIELDSET']); // They listen for what they contain.
  const SHAPES = new Set(['circle', 'rect', 'ellipse', 'polygon', 'polyline', 'line', 'path', 'text', 'image']);
  const ROLES = { BUTTON: 'button', A: 'link', SELECT: 'select', OPTION: 'option', TEXTAREA: 'field', IMG: 'image', CANVAS: 'image', LI: 'item', TD: 'cell', TH: 'cell', SUMMARY: 'button', H1: 'heading', H2: 'heading', H3: 'heading', H4: 'heading', H5: 'heading', H6: 'heading' };
  const INPUTS = { button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button', color: 'button', checkbox: 'checkbox', radio: 'radio', range: 'slider' };
  const ARIA = { combobox: 'select', listbox: 'list', textbox: 'field', searchbox: 'field', menuitem: 'item', treeitem: 'item', gridcell: 'cell', img: 'image' };
  const NAMED = new Set(['button', 'link', 'checkbox', 'radio', 'switch', 'option', 'tab', 'slider', 'spinbutton', 'heading', ...Object.keys(ARIA)]);
  const PICKED = new Set(['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range']); // Inputs with a picker of the browser.

  const SPACE = /\s/;
  const trim = s => !s ? '' : SPACE.test(s) ? s.replace(/\s+/g, ' ').trim() : s;
  const cut = s => (s.length > TEXT ? trim(s).slice(0, TEXT) : trim(s)).toWellFormed();

  // --- reading the page ---
  // The names of colours: exact ones from COLOURS, others by their hue.
  const COLOURS = { '0,0,0': 'black', '255,255,255': 'white', '165,42,42': 'brown', '128,0,0': 'maroon', '255,192,203': 'pink', '255,165,0': 'orange', '128,128,0': 'olive', '0,128,0': 'green', '0,255,0': 'lime', '0,128,128': 'teal', '0,0,128': 'navy', '128,0,128': 'purple', '238,130,238': 'violet', '75,0,130': 'indigo' };
  const HUES = [[15, 'red'], [42, 'orange'], [70, 'yellow'], [165, 'green'], [195, 'cyan'], [257, 'blue'], [290, 'purple'], [345, 'magenta'], [360, 'red']];
  const names = new Map();
  function colour(css) {
    if (!names.has(css)) names.set(css, colourName(css));
    return names.get(css);
  }
  function colourName(css) {
    const m = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/.exec(css);
    if (!m || m[4] === '0') return '';
    const [r, g, b] = m.slice(1, 4).map(Number), most = Math.max(r, g, b), range = most - Math.min(r, g, b), light = (2 * most - range) / 510;
    if (COLOURS[[r, g, b]]) return COLOURS[[r, g, b]];
    if (range < 20) return light < .1 ? 'black' : light > .95 ? 'white' : 'grey';
    const h = 60 * (most === r ? ((g - b) / range + 6) % 6 : most === g ? (b - r) / range + 2 : (r - g) / range + 4);
    return (light < .3 ? 'dark ' : light > .75 ? 'light ' : '') + HUES.find(x => h <= x[0])[1];
  }
  const isControl = e => CONTROLS.has(e.tagName);
  const isEditable = e => !isControl(e) && e.isContentEditable; // This is slow.
  const isField = e => e.tagName === 'TEXTAREA' || e.tagName === 'INPUT' && !INPUTS[e.type] || isEditable(e);
  const isList = e => e.tagName === 'SELECT' && (e.multiple || e.size > 1);
  function acts(r) {
    const e = r.e, tag = e.tagName;
    if (tag === 'A' || isControl(e) || tag === 'SUMMARY' || isEditable(e) && !e.parentElement.isContentEditable) return true;
    if (e.id === 'wrap' || e.id === 'area' || GROUPS.has(tag)) return false;
    const role = e.getAttribute('role');
    return heard.has(e) || e.onclick || e.onmousedown || role && NAMED.has(role) && role !== 'heading' && role !== 'img' || e.hasAttribute('tabindex') && e.tabIndex >= 0 || r.hand;
  }
  // Read is what is known about an element. Its style is computed on demand.
  class Read {
    constructor(e, clip) { this.e = e; this.clip = clip; this.hand = this.acts = this.shown = false; this.kids = NOBODY; this.inner = 0; this.flat = true; this.css = null; }
    get style() { return this.css ||= getComputedStyle(this.e); }
  }
  // visit reads an element and its content: style, the part of the screen where it can be seen, how many elements
  // inside take clicks, and whether it is running text.
  function visit(e, clip, hand, labels) {
    if (NONE.has(e.tagName) || HIDDEN.has(e.id)) return null;
    const r = new Read(e, clip);
    r.shown = e.checkVisibility(DRAWN) || e === document.activeElement && isField(e); // A field that is not drawn may take typed text.
    if (isControl(e) && (e.tagName !== 'BUTTON' || !e.firstElementChild)) { // Most elements are controls, so their style is not computed.
      r.acts = true;
      r.flat = false;
      return r;
    }
    const style = r.style;
    if (style.display === 'none') return null;
    const pointer = style.cursor === 'pointer';
    r.hand = pointer && !hand;
    if (e.tagName === 'LABEL' && e.control) labels.set(e.control, e);
    r.acts = !!acts(r) && r.shown;
    if (e.firstElementChild && !isEditable(e)) {
      let c = clip;
      r.kids = [];
      if (style.overflowX !== 'visible' && e !== document.body) {
        const b = e.getBoundingClientRect();
        c = { x0: Math.max(c.x0, b.left), y0: Math.max(c.y0, b.top), x1: Math.min(c.x1, b.right), y1: Math.min(c.y1, b.bottom) };
      }
      for (let k = e.firstElementChild; k; k = k.nextElementSibling) {
        const kid = visit(k, c, pointer || hand, labels);
        if (!kid) continue;
        r.kids.push(kid);
        r.inner += kid.inner + (kid.acts ? 1 : 0);
        if (!kid.flat || kid.acts || !kid.style.display.startsWith('inline')) r.flat = false;
      }
    }
    if (e instanceof SVGElement || e.tagName === 'IMG' || e.tagName === 'CANVAS' || isControl(e)) r.flat = false;
    return r;
  }
  // text joins the texts of an element. Spaces separate blocks.
  function text(r) {
    if (!r.e.firstElementChild) return r.e.textContent;
    const byElement = new Map(r.kids.map(k => [k.e, k]));
    let out = '';
    for (let n = r.e.firstChild; n; n = n.nextSibling) {
      if (n.nodeType === 3) out += n.data;
      else if (n.nodeName === 'BR') out += ' ';
      else if (byElement.has(n)) { const k = byElement.get(n), t = text(k); out += k.style.display.startsWith('inline') ? t : ' ' + t + ' '; }
    }
    return out;
  }
  // beside returns the short text next to a control without a label.
  function beside(e, way) {
    let n = e[way];
    if (!n && way === 'previousSibling' && e.parentElement.childElementCount === 1) n = e.parentElement[way];
    while (n && (n.nodeName === 'BR' || n.nodeType === 8 || n.nodeType === 3 && !n.data.trim())) n = n[way];
    if (!n || n.nodeType === 1 && (n.childElementCount || isControl(n))) return '';
    const t = trim(n.textContent);
    return t.length <= 60 ? t : '';
  }
  function label(e, labels) {
    const l = labels.get(e), box = e.type === 'checkbox' || e.type === 'radio';
    return trim(l && (e.tagName === 'SELECT' && l.contains(e) ? l.firstChild.textContent : l.textContent) || e.getAttribute('aria-label') || beside(e, box ? 'nextSibling' : 'previousSibling'));
  }
  function role(r) {
    const e = r.e, said = e.getAttribute('role');
    if (said && NAMED.has(said)) return ARIA[said] || said;
    if (e.tagName === 'INPUT') return INPUTS[e.type] || 'field';
    if (isEditable(e)) return 'field';
    if (e.classList.contains('ui-slider-handle')) return 'slider';
    if (ROLES[e.tagName]) return ROLES[e.tagName];
    if (!r.acts) return 'text';
    return e.tagName === 'SPAN' && /link/.test(e.className) ? 'link' : 'item';
  }
  function states(e, on) {
    const out = [], k = e.getAttribute('class'), c = k ? ' ' + k + ' ' : '', x = e.getAttribute('aria-expanded'), y = e.getAttribute('aria-checked');
    if (e.tagName === 'INPUT' && (e.type === 'checkbox' || e.type === 'radio')) out.push(e.checked ? 'checked' : 'unchecked');
    else if (y) out.push(y === 'true' ? 'checked' : 'unchecked');
    if (e.selected || e.getAttribute('aria-selected') === 'true' || c && / (ui-state-active|selected|active) /.test(c)) out.push('selected');
    if (e.disabled || e.getAttribute('aria-disabled') === 'true' || c.includes(' ui-state-disabled ')) out.push('disabled');
    if (e === on) out.push('focused');
    if (x === 'true' || e === open) out.push('expanded');
    else if (x === 'false') out.push('collapsed');
    return out;
  }
  const called = e => trim([...e.classList].filter(c => !/^(ui-(corner|state|widget|helper|button$|button-icon)|hasDatepicker)/.test(c)).join(' ') + ' ' + e.id);
  function shape(r) {
    const e = r.e, s = r.style, fill = s.fill === 'none' ? s.stroke : s.fill, n = e.points ? e.points.numberOfItems : 0;
    const kind = e.tagName === 'rect' ? 'rectangle' : n === 3 ? 'triangle' : n ? `${e.tagName} with ${n} corners` : e.tagName;
    return trim(`${s.fill === 'none' && e.tagName !== 'line' ? 'outlined ' : ''}${colour(fill)} ${kind} ${called(e)}`);
  }

  // --- what can be tapped ---
  // aim returns a point of the visible part of a box whose tap reaches the element, the middle if possible. It returns
  // null if no part is visible.
  const TRIES = [[.5, .5], [.25, .5], [.75, .5], [.5, .25], [.5, .75], [.1, .1], [.9, .1], [.1, .9], [.9, .9]];
  function aim(e, b, clip, owner) {
    const x0 = Math.max(b.left, clip.x0), y0 = Math.max(b.top, clip.y0), w = Math.min(b.right, clip.x1) - x0, h = Math.min(b.bottom, clip.y1) - y0;
    if (!(w > .5 && h > .5)) return null;
    let under = false; // An ancestor takes the tap: nothing covers it.
    for (let i = 0; i < TRIES.length; i++) {
      const x = x0 + w * TRIES[i][0], y = y0 + h * TRIES[i][1], hit = document.elementFromPoint(x, y);
      if (hit && (hit === e || hit === owner || e.contains(hit))) return { tap: [x, y] };
      if (hit && hit.contains(e)) under = true;
    }
    return { tap: [x0 + w / 2, y0 + h / 2], occluded: !under };
  }

  let nodes = [], open = null; // The elements of the last observation; the select whose list is open.
  function observe() {
    const out = [], on = document.activeElement, view = { x0: 0, y0: 0, x1: innerWidth, y1: innerHeight }, labels = new Map();
    nodes = [];
    if (open && !open.isConnected) open = null;
    const round = b => [Math.round(b.left), Math.round(b.top), Math.round(b.width), Math.round(b.height)];
    function push(r, e, b, o) {
      if (out.length >= MAX || !b.width && !b.height) return;
      // A flat line has no height: it takes taps through its stroke.
      const box = b.width && b.height ? b : { left: b.left - 1, top: b.top - 1, right: b.right + 1, bottom: b.bottom + 1, width: b.width + 2, height: b.height + 2 };
      const at = aim(e, box, r.clip, e.tagName === 'OPTION' ? e.closest('select') : labels.get(e));
      if (at && !r.shown) return; // This check comes late, because aim is slow.
      o.bounds = round(box);
      if (at) { o.visible = true; o.tap = at.tap; }
      if (at && at.occluded) o.occluded = true;
      // JSON omits undefined, which costs less than a delete.
      o.text = o.text ? cut(o.text) : undefined;
      o.desc = o.desc ? cut(o.desc) : undefined;
      if (o.desc === o.text) o.desc = undefined;
      o.value = o.value ? String(o.value).slice(0, TEXT).toWellFormed() : undefined; // Unchanged: a copy must equal it.
      if (o.state && !o.state.length) o.state = undefined;
      nodes.push(e);
      out.push(o);
    }
    function control(r) {
      const e = r.e, o = { role: role(r), text: '', desc: trim(e.getAttribute('aria-description') || e.title), state: states(e, on) };
      if (isField(e)) {
        o.text = label(e, labels) || e.placeholder;
        o.desc ||= e.placeholder && e.placeholder !== o.text ? e.placeholder : trim(e.name || e.id);
        o.value = isEditable(e) ? e.innerText : e.value;
        if (!e.readOnly && !e.disabled) o.editable = true;
        if (PICKED.has(e.type)) o.by = 'pick';
      } else if (e.tagName === 'SELECT') {
        o.text = label(e, labels);
        o.desc ||= trim(e.name || e.id);
        if (!isList(e)) { o.by = 'select'; o.value = e.selectedOptions.length ? e.selectedOptions[0].text : ''; }
      } else if (e.tagName === 'INPUT') {
        o.text = INPUTS[e.type] === 'button' ? e.value || e.alt : label(e, labels);
        if (e.type === 'range' || e.type === 'color') { o.value = e.value; o.by = 'pick'; o.editable = true; }
      } else {
        o.text = trim(text(r)) || trim(e.getAttribute('aria-label'));
        if (!o.text) o.desc = trim(`${colour(r.style.backgroundColor)} ${o.desc || e.alt || called(e)}`);
      }
      push(r, e, e.getBoundingClientRect(), o);
      if (isList(e)) for (const x of e.options) push(r, x, x.getBoundingClientRect(), { role: 'option', text: x.text, state: states(x, on), by: 'option' });
    }
    function emit(r, quiet) {
      const e = r.e, field = e.tagName === 'LABEL' && e.control;
      if (field && !field.getClientRects().length) { // The label stands in for a hidden control.
        push(r, e, e.getBoundingClientRect(), { role: INPUTS[field.type] || 'item', text: e.textContent, state: states(field, on) });
        return;
      }
      if (SHAPES.has(e.tagName) && e instanceof SVGElement) {
        const b = e.getBoundingClientRect();
        if (r.style.fill === 'none' && r.style.stroke === 'none' || b.width < DOT && b.height < DOT) return;
        push(r, e, b, { role: r.acts ? 'item' : e.tagName === 'text' ? 'text' : 'shape', text: e.textContent, desc: shape(r), state: states(e, on) });
        return;
      }
      if (e.tagName === 'svg' && r.acts) push(r, e, e.getBoundingClientRect(), { role: 'item', desc: called(e) || 'drawing' });
      else if (r.acts && (!r.inner || isControl(e)) && !field) return control(r);
      if (e.tagName === 'IMG' || e.tagName === 'CANVAS') {
        push(r, e, e.getBoundingClientRect(), { role: 'image', text: e.alt, desc: trim(`${e.title} ${called(e)}`) || e.tagName.toLowerCase() });
        return;
      }
      if (r.flat && !quiet && !field) {
        const t = trim(text(r));
        if (t) push(r, e, e.getBoundingClientRect(), { role: role(r), text: t });
        else if (!e.firstElementChild && called(e) && colour(r.style.backgroundColor) && e.getBoundingClientRect().width < 60) push(r, e, e.getBoundingClientRect(), { role: 'shape', desc: trim(`${colour(r.style.backgroundColor)} ${called(e)}`) });
        return;
      }
      let k = 0;
      for (let n = e.firstChild; n; n = n.nextSibling) {
        if (n.nodeType === 3 && !quiet && !field && n.data.trim()) {
          const range = document.createRange();
          range.selectNodeContents(n);
          push(r, e, range.getBoundingClientRect(), { role: 'text', text: n.data });
        } else if (k < r.kids.length && r.kids[k].e === n) emit(r.kids[k++], quiet || !!field);
      }
    }
    const root = visit(document.body, view, false, labels);
    if (root) emit(root, false);
    if (open) list(out, view);
    return { width: innerWidth, height: innerHeight, elements: out, over: !!WOB_DONE_GLOBAL, raw: WOB_DONE_GLOBAL ? Number(WOB_RAW_REWARD_GLOBAL) || 0 : 0 };
  }

  // --- what the browser would show outside of the page ---
  // list appends the options of the open select, below it if there is room. They cover what lies under them.
  function list(out, view) {
    const b = open.getBoundingClientRect(), all = [...open.options].slice(0, MAX - out.length), h = Math.max(1, Math.min(16, Math.floor(view.y1 / Math.max(1, all.length))));
    const x = Math.max(0, Math.round(b.left)), y = Math.max(0, Math.min(Math.round(b.bottom), view.y1 - all.length * h)), w = Math.max(20, Math.round(b.width));
    for (const o of out) if (o.visible && o.tap[0] >= x && o.tap[0] < x + w && o.tap[1] >= y && o.tap[1] < y + all.length * h) o.occluded = true;
    all.forEach((e, k) => {
      const top = Math.min(y + k * h, view.y1 - h), o = { role: 'option', text: cut(e.text), bounds: [x, top, w, h], visible: true, tap: [x + w / 2, top + h / 2], by: 'option' };
      const s = states(e, null);
      if (s.length) o.state = s;
      nodes.push(e);
      out.push(o);
    });
  }
  const fire = (e, ...types) => { for (const t of types) e.dispatchEvent(new Event(t, { bubbles: true })); };
  const mouse = e => { for (const t of ['mousedown', 'mouseup', 'click']) e.dispatchEvent(new MouseEvent(t, { bubbles: true, cancelable: true })); };
  // choose takes one option. If several may be chosen it toggles the option, as on a phone. It returns why it cannot.
  function choose(option) {
    const s = option.closest('select');
    open = null;
    if (option.disabled || s.disabled) return 'the option is disabled';
    s.focus();
    if (s.multiple) option.selected = !option.selected;
    else if (option.selected) return '';
    else option.selected = true;
    fire(s, 'input', 'change');
    return '';
  }
  // pick sets an input that has a picker. It also accepts dates as M/D/Y and times with AM or PM.
  function pick(e, t) {
    const two = n => String(n).padStart(2, '0');
    let m = /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})$/.exec(t = t.trim());
    if (m && e.type === 'date') t = `${m[3]}-${two(m[1])}-${two(m[2])}`;
    m = /^(\d{1,2}):(\d\d)\s*([ap])\.?m\.?$/i.exec(t);
    if (m && e.type === 'time') t = `${two(m[1] % 12 + (/p/i.test(m[3]) ? 12 : 0))}:${m[2]}`;
    if (/^\d:\d\d$/.test(t) && e.type === 'time') t = '0' + t;
    const old = e.value;
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(e, t);
    if (e.value === old && t !== old || e.value === '') { e.value = old; return `a ${e.type} field does not take ${JSON.stringify(t)}`; }
    e.focus();
    fire(e, 'input', 'change');
    return '';
  }
  return {
    // reset begins an episode and returns its goal. It waits for the images of the page.
    async reset(mode, seed) {
      collabui.begin();
      core.EPISODE_MAX_TIME = LIMIT;
      core.setDataMode(mode);
      Math.seedrandom(seed);
      core.startEpisodeReal();
      await Promise.allSettled([...document.images].map(i => i.decode()));
      const u = core.getUtterance();
      return trim(typeof u === 'string' ? u : u.utterance);
    },
    ready: () => typeof core === 'object' && typeof genProblem === 'function' && !!core.cover_div && WOB_TASK_READY !== false,
    observe,
    close() { const was = open; open = null; return !!was; },
    // use does what a tap does outside of the page: it opens a select or chooses an option.
    use(i) {
      const e = nodes[i];
      if (e.tagName === 'OPTION') return choose(e);
      if (e.disabled) return 'the list is disabled';
      e.focus();
      mouse(e);
      open = e;
      return '';
    },
    // enter sets a select or an input with a picker to a text.
    enter(i, t) {
      const e = nodes[i];
      if (e.tagName !== 'SELECT') return e.disabled ? 'the field is disabled' : pick(e, t);
      const o = [...e.options].find(o => trim(o.text).toLowerCase() === trim(t).toLowerCase());
      return o ? (e.multiple && o.selected ? '' : choose(o)) : `no option is named ${JSON.stringify(t)}`;
    },
    // mark selects the content of the focused field, so typing replaces it.
    mark() {
      const e = document.activeElement;
      if (e && e.select) e.select();
      else if (e && e.isContentEditable) getSelection().selectAllChildren(e);
    },
    // scroll scrolls by three quarters of the size: what can scroll under the element i. With i = -1 it takes what is under
    // the middle of the page, or else the first element that can scroll. It returns how a finger would have done that:
    // from x, y to x, y around the middle of what scrolled. If nothing did, the list is empty.
    scroll(i, dx, dy) {
      const w = document.getElementById('wrap') || document.body, b = w.getBoundingClientRect();
      const under = i >= 0 ? nodes[i] : document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2);
      const move = e => {
        if (e !== document.scrollingElement && !/auto|scroll/.test(getComputedStyle(e).overflow) && e.tagName !== 'TEXTAREA' && !isList(e)) return false;
        const x = e.scrollLeft, y = e.scrollTop;
        e.scrollBy({ left: dx * e.clientWidth * .75, top: dy * e.clientHeight * .75, behavior: 'instant' });
        const w = e.scrollLeft - x, h = e.scrollTop - y;
        if (!w && !h) return false;
        const b = e === document.scrollingElement ? { left: 0, top: 0, width: innerWidth, height: innerHeight } : e.getBoundingClientRect();
        const mx = b.left + b.width / 2, my = b.top + b.height / 2;
        return [mx + w / 2, my + h / 2, mx - w / 2, my - h / 2];
      };
      for (let e = under; e; e = e.parentElement) { const m = move(e); if (m) return m; }
      if (i < 0) for (const e of document.body.querySelectorAll('*')) { const m = move(e); if (m) return m; }
      return [];
    },
  };
})());
