'use strict';
// The page side of webtasks: one page plays every template. A template's make() gives the goal and a state; view() draws the state anew after every
// change; right() lists all actions that help now; a reset leaves nothing behind, so a reset in place equals a fresh load.
const kit = (() => {
  const templates = {}, LONG = 500;
  let app = null, over = false, won = false;

  // Seeded random numbers: FNV-1a of the seed text feeds mulberry32.
  function random(text) {
    let h = 2166136261;
    for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
    return () => {
      h = (h + 0x6D2B79F5) | 0;
      let t = Math.imul(h ^ (h >>> 15), 1 | h);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }
  function dice(text) {
    const next = random(text);
    const r = {
      next, int: n => Math.floor(next() * n), flip: () => next() < 0.5, pick: a => a[r.int(a.length)],
      shuffle(a) { a = a.slice(); for (let i = a.length - 1; i > 0; i--) { const j = r.int(i + 1); [a[i], a[j]] = [a[j], a[i]]; } return a; },
      sample: (a, n) => r.shuffle(a).slice(0, n),
    };
    return r;
  }

  // --- drawing ---
  function node(parent, tag, key, role, text, attrs) {
    const e = document.createElement(tag);
    if (key) e.dataset.k = key;
    if (role) e.setAttribute('role', role);
    if (text) e.textContent = text;
    for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
    parent.append(e);
    return e;
  }
  function act(e, fn, long, twice) {
    let down = 0;
    e.addEventListener('mousedown', () => { down = Date.now(); });
    e.addEventListener('click', ev => { ev.stopPropagation(); const held = Date.now() - down >= LONG; change(held ? long : fn); });
    if (twice) e.addEventListener('dblclick', () => change(twice));
  }
  function change(fn) { if (fn && !over) { fn(); draw(); } }

  // What only people see. Rows, links, tabs and buttons stand in groups, and some have an icon or an initial. Texts, roles, keys and states of elements
  // do not depend on it. home is the icon of the app, which its first screen names.
  let home = '';
  const apps = {
    Actions: 'play', Bank: 'wallet', Booking: 'ticket', Buttons: 'list', Calendar: 'calendar', Cards: 'card', Cart: 'cart', Clock: 'clock', Contacts: 'people', Files: 'folder', Form: 'pen',
    Help: 'help', Library: 'book', Mail: 'mail', Maps: 'map', Members: 'people', Mixed: 'list', Music: 'music', News: 'note', Notes: 'note', 'Order form': 'cart', 'Packing list': 'list',
    Pictures: 'star', 'Reading list': 'book', Recipes: 'pot', Sequence: 'list', Settings: 'gear', Shop: 'cart', 'Shopping list': 'cart', 'Sign in': 'lock', Store: 'get', Survey: 'note',
    Switches: 'gear', Tabs: 'page', Tasks: 'tick', Videos: 'film', Where: 'map',
  };
  const rows = { calendar: 'calendar', cart: 'box', card: 'card', film: 'film', folder: 'folder', gear: 'gear', get: 'box', help: 'list', map: 'map', music: 'music', note: 'note', page: 'page', pot: 'pot', tick: 'page' };
  const verbs = {
    Add: 'plus', Archive: 'box', Back: 'left', Bookmark: 'save', Call: 'phone', Cancel: 'cross', Cart: 'cart', Check: 'cart', Confirm: 'tick', Copy: 'copy', Delete: 'bin', Done: 'tick', Freeze: 'lock',
    Go: 'search', Help: 'help', Install: 'get', Invite: 'people', Less: 'minus', Login: 'lock', More: 'plus', New: 'plus', Open: 'page', Pay: 'wallet', Pin: 'star', Play: 'play', Rename: 'pen', Reply: 'reply',
    Save: 'save', Send: 'plane', Share: 'share', Star: 'star', Start: 'pot', Submit: 'tick', Trending: 'trend',
  };
  const initial = t => ({ 'data-initial': t[0].toUpperCase(), 'data-hue': (t.charCodeAt(0) + t.charCodeAt(t.length - 1)) % 5 });
  const icon = (name, plain = '') => ({ class: (plain + (name ? ' icon icon-' + name : '')).trim() });
  const group = (parent, name) => { // the last group of the parent if it has this name, or a new one; panels have none
    if (parent.tagName === 'SECTION') return parent;
    const last = parent.lastElementChild;
    return last && last.className === name ? last : node(parent, 'div', '', '', '', { class: name });
  };
  function heading(parent, t) {
    const known = Object.hasOwn(apps, t) ? apps[t] : '';
    home = known || (home === 'folder' ? 'page' : home); // a folder has files
    node(parent, 'h1', '', 'heading', t, icon(known));
    if (!known && ['item', 'file', 'card', 'pay'].includes(app.s.screen)) node(parent, 'div', '', '', '', rows[home] ? { 'data-hue': 0, ...icon(rows[home], 'hero') } : { class: 'hero', ...initial(t) });
  }
  function ui(parent) {
    const card = (k, role, t, attrs) => node(group(parent, 'card'), 'div', k, role, t, attrs), panel = parent.tagName === 'SECTION';
    const u = {
      bar(t, note) { // the top of an app with panels: what was done last stands beside the title
        parent.className = 'panels';
        const b = node(parent, 'header', '', '', '');
        node(b, 'h1', '', 'heading', t);
        if (note) node(b, 'p', 'note', 'status', note);
      },
      panel(t, icon, fn) { const p = node(parent, 'section', '', '', ''); node(p, 'h2', '', 'heading', t, { class: 'icon icon-' + icon }); fn(ui(p)); },
      pair: (k, a, b) => node(parent, 'p', k, '', `${a} ${b}`, { class: 'pair' }),
      chip: (k, t, on, fn) => act(node(parent, 'div', k, 'radio', t, { class: 'chip', 'aria-checked': !!on }), fn),
      title: t => heading(parent, t), text: (t, k) => node(parent, 'p', k || '', '', t),
      note: t => node(parent, 'p', '', '', t, { class: 'note' }),
      button: (k, t, fn, o = {}) => act(node(group(parent, 'buttons'), 'button', k, '', t, icon(panel ? '' : verbs[t.split(' ')[0]], o.plain ? 'plain' : '')), fn, o.long, o.twice),
      link: (k, t, fn) => act(node(group(parent, 'card'), 'a', k, 'link', t), fn),
      row: (k, t, fn, o = {}) => act(card(k, 'item', t, rows[home] ? icon(rows[home], 'row') : { class: 'row', ...initial(t) }), fn, o.long, o.twice),
      tile: (k, t, fn) => act(node(group(parent, 'tiles'), 'button', k, '', t.text, { ...icon(t.icon, 'tile'), style: `order: ${t.order}`, ...(t.colour ? { 'data-colour': t.colour } : {}), ...(t.badge ? { 'data-badge': '' } : {}), ...(t.selected ? { 'aria-selected': true } : {}) }), fn),
      toggle: (k, t, on, fn) => act(card(k, 'switch', t, { class: 'row', 'aria-checked': !!on }), fn),
      check: (k, t, on, fn) => act(card(k, 'checkbox', t, { class: 'row', 'aria-checked': !!on }), fn),
      radio: (k, t, on, fn) => act(card(k, 'radio', t, { class: 'row', 'aria-checked': !!on }), fn),
      tab: (k, t, on, fn) => act(node(group(parent, 'tabs'), 'div', k, 'tab', t, { 'aria-selected': !!on }), fn),
      select(k, t, value, options, s, set) { // a drop-down whose list is part of the page, as Android shows it
        act(card(k, 'combobox', t + (value ? ' ' + value : ''), { class: 'row', 'aria-expanded': s.open === k }), () => { s.open = s.open === k ? '' : k; });
        if (s.open === k) for (const o of options) act(card(k + '/' + o, 'option', o, { class: 'row' }), () => { s.open = ''; set(o); });
      },
      field(k, label, value, set, enter) {
        const i = node(panel ? parent : node(parent, 'div', '', '', '', { class: 'field', 'data-label': label }), 'input', k, 'field', '', { 'aria-label': label, placeholder: label, autocomplete: 'off', spellcheck: 'false' });
        i.value = value || '';
        i.addEventListener('input', () => { if (!over) set(i.value); });
        if (enter) i.addEventListener('keydown', ev => { if (ev.key === 'Enter') change(enter); });
      },
      dialog(fn) { node(parent, 'div', '', '', '', { class: 'veil' }); fn(ui(node(parent, 'div', '', 'dialog', '', { class: 'dialog' }))); },
    };
    return u;
  }
  function draw() {
    const held = document.activeElement && document.activeElement.dataset.k, y = scrollY;
    const root = document.getElementById('app');
    root.textContent = root.className = '';
    app.view(app.s, ui(root));
    if (app.s.screen !== app.drawn) scrollTo(0, 0); else scrollTo(0, y);
    app.drawn = app.s.screen;
    const f = held && root.querySelector(`input[data-k="${CSS.escape(held)}"]`);
    if (f) f.focus();
  }

  // A press and a release far apart are a swipe, and the page scrolls itself: left to the compositor, a scroll takes effect at some later time, and an
  // observation may come before it.
  const SWIPE = 100;
  let touch = null;
  addEventListener('mousedown', e => { touch = [e.clientX, e.clientY]; }, true);
  addEventListener('mouseup', e => {
    const dx = touch[0] - e.clientX, dy = touch[1] - e.clientY;
    if (Math.abs(dx) > SWIPE || Math.abs(dy) > SWIPE) scrollBy(dx, dy);
  }, true);

  // --- observing ---
  const roles = { BUTTON: 'button', A: 'link', INPUT: 'field', H1: 'heading' };
  function state(e) {
    const out = [], role = e.getAttribute('role'), c = e.getAttribute('aria-checked');
    if (c) out.push(role === 'switch' ? (c === 'true' ? 'on' : 'off') : c === 'true' ? 'checked' : 'unchecked');
    if (e.getAttribute('aria-selected') === 'true') out.push('selected');
    if (e.getAttribute('aria-expanded') === 'true') out.push('expanded');
    if (e === document.activeElement) out.push('focused');
    return out;
  }
  function observe() {
    const elements = [], at = {}, w = innerWidth, h = innerHeight;
    for (const e of document.querySelectorAll('#app *')) {
      if (e.children.length && !e.dataset.k) continue; // a container
      const text = e.tagName === 'INPUT' ? e.getAttribute('aria-label') : e.textContent.trim();
      if (!text && !e.dataset.k) continue;
      const b = e.getBoundingClientRect(), x = b.x + b.width / 2, y = b.y + b.height / 2;
      const visible = b.width > 0 && b.height > 0 && x >= 0 && x < w && y >= 0 && y < h;
      const top = visible ? document.elementFromPoint(x, y) : null;
      const o = { i: elements.length, role: e.getAttribute('role') || roles[e.tagName] || 'text', text: text.slice(0, 200), bounds: [b.x, b.y, b.width, b.height].map(Math.round), visible };
      if (visible && top !== e && !e.contains(top)) o.occluded = true;
      if (e.tagName === 'INPUT') { o.editable = true; o.value = e.value.slice(0, 200); }
      const said = e.getAttribute('aria-description') || e.getAttribute('title');
      if (said && said !== text) o.desc = said.slice(0, 200);
      const st = state(e);
      if (st.length) o.state = st;
      if (e.dataset.k) at[e.dataset.k] = o;
      elements.push(o);
    }
    return { width: w, height: h, elements, over, won, done: over ? won : !!(app.check && app.check(app.s)), impossible: !!app.impossible, ...(over ? { right: [], because: [] } : right(at)) };
  }
  function action(x, o) {
    if (x.a === 'status') return { action_type: 'status', goal_status: 'complete' };
    if (x.a === 'infeasible') return { action_type: 'status', goal_status: 'infeasible' };
    return { action_type: x.a, ...(o ? { index: o.i } : {}), ...(x.t !== undefined ? { text: x.t } : {}) };
  }
  // right resolves the keys of the template's right actions on this screen: what is off screen must be scrolled to first.
  function right(at) {
    const reached = !app.impossible && app.check && app.check(app.s);
    const acts = reached ? [app.done || { a: 'status' }] : app.right(app.s), out = [];
    for (const x of acts) {
      if (!x) continue;
      const o = x.k && at[x.k];
      if (x.k && !o) continue;
      if (o && o.occluded) continue;
      if (o && !o.visible) out.push({ action_type: 'scroll', direction: o.bounds[1] > 0 ? 'down' : 'up' });
      else out.push({ ...action(x, o), ...(x.because ? { because: x.because.map(y => (at[y] ? at[y].i : -1)) } : {}) });
    }
    const once = out.filter((x, i) => out.findIndex(y => JSON.stringify(x) === JSON.stringify(y)) === i);
    return { right: once.map(({ because, ...x }) => x), because: once.map(x => x.because || []) };
  }

  return {
    templates, dice,
    // task adds a template. Its generator is the function that makes it and its siblings: all of them are in one split, train (which val and
    // test-seeds share), test-templates or test-apps.
    task(name, group, generator, split, max, make) { templates[name] = { name, group, generator, split, max, make }; },
    // app adds a template with several screens, of which "list" is the first.
    app(name, generator, split, max, make) {
      kit.task(name, 'apps', generator, split, max, (r, W) => {
        const a = make(r, W);
        a.s = { screen: 'list', note: '', ...a.s };
        a.back = a.back || (s => { s.screen = a.up ? a.up(s) : 'list'; });
        return a;
      });
    },
    list: () => Object.values(templates).map(({ make, ...t }) => t),
    // reset starts a task; seed is a decimal string, because it may have 64 bits. Training tasks may have made-up words.
    reset(name, split, seed, words) {
      over = won = false;
      home = '';
      if (document.activeElement) document.activeElement.blur();
      const W = words === 'made-up' && split === 'train' ? madeUp(pools.train, dice(name + ':words:' + seed)) : pools[split];
      Math.random = random('page' + seed);
      app = templates[name].make(dice(name + ':' + seed), W, split);
      app.s.open = '';
      app.drawn = undefined;
      draw();
      scrollTo(0, 0);
      return { goal: app.goal, ...observe() };
    },
    observe,
    back() { if (over) return; if (app.s.open) app.s.open = ''; else if (app.back) app.back(app.s); draw(); },
    answer(t) { app.s.answer = t; },
    end(ok) { over = true; won = !!ok; },
    width: () => document.documentElement.scrollHeight,
  };
})();
// Short forms in which right() is written.
const tap = k => ({ a: 'click', k }), type = (k, t) => ({ a: 'input_text', k, t }), back = { a: 'navigate_back' };
