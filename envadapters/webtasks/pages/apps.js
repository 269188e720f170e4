'use strict';
// The family "apps": several screens and steps. The final state is checked by the program, and the agent must say that it is done (status complete).
(() => {
  const make = kit.app;
  const not = (a, x) => a.filter(y => y !== x);

  // records: an app with a list of named records and a detail screen with buttons. cfg.buttons maps a button to what it does to the state.
  function records(r, cfg) {
    const { title, items, extra = [], menu = ['Share', 'Help'] } = cfg;
    return { s: { items: items.slice(), star: [], gone: [], ...cfg.s },
      view(s, u) {
        u.title(s.screen === 'item' ? s.item : title);
        if (s.note) u.note(s.note);
        if (s.screen === 'list') {
          s.items.forEach(x => u.row('i' + x, x + (s.star.includes(x) ? ' starred' : ''), () => { s.item = x; s.screen = 'item'; s.note = ''; }));
          (cfg.top || []).forEach(b => u.button(b.k, b.t, () => b.fn(s)));
        } else if (s.screen === 'item') {
          (cfg.detail ? cfg.detail(s) : []).forEach(t => u.text(t));
          cfg.buttons.forEach(b => u.button(b.k, b.t, () => b.fn(s), { plain: b.plain }));
          menu.forEach(m => u.button(m, m, () => { s.note = m + ' is not available'; }, { plain: true }));
          u.button('back', 'Back', () => { s.screen = 'list'; s.note = ''; }, { plain: true });
        } else cfg.screens[s.screen](s, u);
        if (s.ask) u.dialog(d => { d.text(`${s.ask} ${s.item}`); d.button('yes', 'Confirm', () => { s.doIt(s); s.ask = ''; }); d.button('no', 'Cancel', () => { s.ask = ''; }, { plain: true }); });
      },
      back: s => { if (s.ask) s.ask = ''; else if (s.screen === 'item' || s.screen === 'list') s.screen = 'list'; else s.screen = cfg.parent || 'list'; s.note = ''; } };
  }
  const enter = (s, x, then) => s.screen === 'list' ? [tap('i' + x)] : s.screen === 'item' && s.item === x ? then : [back, tap('back')];
  const remove = k => ({ k, t: k, fn: s => { s.ask = k; s.doIt = s => { s.items = not(s.items, s.item); s.gone.push(s.item); s.screen = 'list'; s.note = `${s.item} removed`; }; } });
  const star = (k, word) => ({ k, t: k, fn: s => { if (!s.star.includes(s.item)) s.star.push(s.item); s.note = `${s.item} ${word}`; } });
  const only = (s, x) => s.gone.length === 1 && s.gone[0] === x;
  const removal = (name, title, verb, pool, goals) => make(name, 'removal', 'train', 8, (r, W) => {
    const items = r.sample(pool(W), 4 + r.int(2)), x = r.pick(items);
    return { ...records(r, { title, items, buttons: r.shuffle([star('Star', 'starred'), remove(verb)]) }), goal: r.pick(goals(x)), check: s => only(s, x),
      right: s => s.gone.length ? [] : s.ask ? (s.item === x && s.ask === verb ? [tap('yes')] : [tap('no')]) : enter(s, x, [tap(verb)]) };
  });
  removal('contacts-delete', 'Contacts', 'Delete', W => W.first, x => [`Delete the contact ${x}`, `In Contacts delete ${x}`]);
  removal('mail-archive', 'Mail', 'Archive', W => W.topic, x => [`Archive the mail ${x}`, `In Mail archive ${x}`]);
  removal('notes-delete', 'Notes', 'Delete', W => W.topic, x => [`Delete the note ${x}`, `In Notes delete ${x}`]);
  const starring = (name, title, verb, word, pool, goals) => make(name, 'starring', 'train', 6, (r, W) => {
    const items = r.sample(pool(W), 4 + r.int(2)), x = r.pick(items);
    return { ...records(r, { title, items, buttons: r.shuffle([star(verb, word), remove('Delete')]) }), goal: r.pick(goals(x)), check: s => s.star.length === 1 && s.star[0] === x && !s.gone.length,
      right: s => s.star.some(y => y !== x) || s.gone.length ? [] : s.ask ? [tap('no')] : enter(s, x, [tap(verb)]) };
  });
  starring('mail-star', 'Mail', 'Star', 'starred', W => W.topic, x => [`Star the mail ${x}`, `In Mail star ${x}`]);
  starring('notes-pin', 'Notes', 'Pin', 'pinned', W => W.thing, x => [`Pin the note ${x}`, `In Notes pin ${x}`]);
  starring('contacts-call', 'Contacts', 'Call', 'called', W => W.first, x => [`Call ${x}`, `In Contacts call ${x}`]);
  starring('music-play', 'Music', 'Play', 'playing', W => W.label, x => [`Play the song ${x}`, `In Music play ${x}`]);
  starring('files-open', 'Files', 'Open', 'opened', W => W.label, x => [`Open the file ${x}`, `In Files open ${x}`]);

  // creating: a list with a New button, a form, and Save.
  function creating(r, cfg) {
    const fields = Object.keys(cfg.want), s0 = { v: {}, saved: null };
    const open = s => fields.filter(f => (s.v[f] || '') !== cfg.want[f]);
    return { ...records(r, { title: cfg.title, items: cfg.items, s: s0, menu: ['Share'], buttons: [star('Star', 'starred'), remove('Delete')],
      top: [{ k: 'new', t: cfg.add, fn: s => { s.screen = 'form'; s.v = {}; s.note = ''; } }],
      screens: { form(s, u) { fields.forEach(f => u.field(f, f, s.v[f], t => { s.v[f] = t; })); u.button('save', 'Save', () => { s.saved = { ...s.v }; s.items.push(s.v[fields[0]] || 'untitled'); s.screen = 'list'; s.note = 'Saved'; }); u.button('no', 'Cancel', () => { s.screen = 'list'; }, { plain: true }); } } }),
      check: s => !!s.saved && fields.every(f => s.saved[f] === cfg.want[f]) && !s.gone.length && !s.star.length,
      right: s => s.saved || s.gone.length || s.star.length ? [] : s.ask ? [tap('no')] : s.screen === 'list' ? [tap('new')] : s.screen === 'item' ? [back, tap('back')] : open(s).length ? open(s).map(f => type(f, cfg.want[f])) : [tap('save')] };
  }
  make('contacts-add', 'creating', 'train', 8, (r, W) => {
    const n = r.pick(W.first), l = r.pick(W.last);
    return { ...creating(r, { title: 'Contacts', add: 'New contact', items: not(r.sample(W.first, 4), n), want: { Name: n, Phone: l } }), goal: r.pick([`Add a new contact with name ${n} and phone ${l}`, `In Contacts create ${n} with phone ${l}`]) };
  });
  make('notes-add', 'creating', 'train', 8, (r, W) => {
    const t = r.pick(W.topic), b = r.sample(W.thing, 1 + r.int(3)).join(' ');
    return { ...creating(r, { title: 'Notes', add: 'New note', items: not(r.sample(W.topic, 4), t), want: { Title: t, Text: b } }), goal: r.pick([`Add a new note with title ${t} and text ${b}`, `In Notes create ${t} with text ${b}`]) };
  });
  make('todo-add', 'creating', 'train', 6, (r, W) => {
    const t = r.sample(W.thing, 1 + r.int(2)).join(' ');
    return { ...creating(r, { title: 'Tasks', add: 'New task', items: r.sample(W.topic, 4), want: { Title: t } }), goal: r.pick([`Add a new task with title ${t}`, `In Tasks create ${t}`]) };
  });
  make('mail-reply', 'mail-reply', 'train', 8, (r, W) => {
    const items = r.sample(W.topic, 4), x = r.pick(items), t = r.sample(W.thing, 1 + r.int(2)).join(' ');
    return { ...records(r, { title: 'Mail', items, s: { v: '', sent: null }, parent: 'item', menu: ['Star'], buttons: [{ k: 'reply', t: 'Reply', fn: s => { s.screen = 'form'; s.v = ''; s.note = ''; } }, remove('Delete')],
      screens: { form(s, u) { u.field('Message', 'Message', s.v, t => { s.v = t; }); u.button('send', 'Send', () => { s.sent = [s.item, s.v]; s.screen = 'item'; s.note = 'Sent'; }); u.button('no', 'Cancel', () => { s.screen = 'item'; }, { plain: true }); } } }),
      goal: r.pick([`Reply to the mail ${x} with ${t}`, `In Mail reply ${t} to ${x}`]), check: s => !!s.sent && s.sent[0] === x && s.sent[1] === t && !s.gone.length,
      right: s => s.sent || s.gone.length ? [] : s.ask ? [tap('no')] : s.screen === 'form' ? (s.item !== x ? [back, tap('no')] : s.v === t ? [tap('send')] : [type('Message', t)]) : enter(s, x, [tap('reply')]) };
  });
  // settings: sections with switches.
  function settings(r, W, n) {
    const secs = r.sample(W.section, 3), names = r.sample(W.setting, 9), of = i => names.slice(3 * i, 3 * i + 3), i = r.int(3), mine = r.shuffle(of(i));
    const want = mine.slice(0, n).map(x => [x, r.flip()]), on = r.sample(names, 4).filter(x => !mine.includes(x));
    want.forEach(([x, v]) => { if (!v) on.push(x); });
    const start = on.slice(), sec = secs[i];
    const bad = s => names.filter(x => { const w = want.find(y => y[0] === x); return s.on.includes(x) !== (w ? w[1] : start.includes(x)); });
    return { sec, want, s: { on }, check: s => !bad(s).length,
      view(s, u) {
        if (s.screen === 'list') { u.title('Settings'); secs.forEach(x => u.row(x, x, () => { s.screen = x; })); u.row('about', 'About', () => { s.screen = 'about'; }); } else {
          u.title(s.screen); const k = secs.indexOf(s.screen);
          if (k >= 0) of(k).forEach(x => u.toggle(x, x, s.on.includes(x), () => { s.on = s.on.includes(x) ? not(s.on, x) : [...s.on, x]; })); else u.text('Version one');
          u.button('back', 'Back', () => { s.screen = 'list'; }, { plain: true });
        }
      },
      right(s) { const b = bad(s), here = b.filter(x => s.screen === secs[Math.floor(names.indexOf(x) / 3)]); return here.length ? here.map(tap) : s.screen !== 'list' ? [back, tap('back')] : b.map(x => tap(secs[Math.floor(names.indexOf(x) / 3)])); } };
  }
  const word = v => v ? 'on' : 'off';
  make('settings-switch', 'settings', 'test-templates', 6, (r, W) => { const a = settings(r, W, 1), [[x, v]] = a.want; return { ...a, goal: r.pick([`In Settings open ${a.sec} and turn ${word(v)} ${x}`, `Turn ${word(v)} ${x} under ${a.sec}`]) }; });
  make('settings-two', 'settings', 'test-templates', 8, (r, W) => { const a = settings(r, W, 2), [[x, v], [y, w]] = a.want; return { ...a, goal: `In Settings open ${a.sec} and turn ${word(v)} ${x} and turn ${word(w)} ${y}` }; });
  // shop: products with a cart.
  const shop = (name, n) => make(name, 'shop', 'test-templates', 6 + 3 * n, (r, W) => {
    const items = r.sample(W.thing, 5), want = r.sample(items, n);
    return { s: { cart: [] }, goal: n === 1 ? r.pick([`Add the ${want[0]} to the cart and check out`, `Buy the ${want[0]}`]) : r.pick([`Add the ${want[0]} and the ${want[1]} to the cart and check out`, `Buy the ${want[0]} and the ${want[1]}`]),
      check: s => s.bought && s.bought.length === n && want.every(x => s.bought.includes(x)),
      view(s, u) {
        if (s.screen === 'list') { u.title('Shop'); items.forEach(x => u.row('i' + x, x, () => { s.item = x; s.screen = 'item'; })); u.button('cart', 'Cart', () => { s.screen = 'cart'; }); } else if (s.screen === 'item') {
          u.title(s.item); if (s.cart.includes(s.item)) u.note(`${s.item} is in the cart`); u.button('add', 'Add to cart', () => { if (!s.cart.includes(s.item)) s.cart.push(s.item); }); u.button('back', 'Back', () => { s.screen = 'list'; }, { plain: true }); } else {
          u.title('Cart'); if (s.bought) u.note('Order placed'); s.cart.forEach(x => u.row('c' + x, x + ' remove', () => { s.cart = not(s.cart, x); })); if (s.cart.length) u.button('buy', 'Check out', () => { s.bought = s.cart; s.cart = []; }); u.button('back', 'Back', () => { s.screen = 'list'; }, { plain: true }); }
      },
      right(s) {
        if (s.bought) return [];
        const open = want.filter(x => !s.cart.includes(x)), extra = s.cart.filter(x => !want.includes(x));
        if (s.screen === 'cart') return extra.length ? extra.map(x => tap('c' + x)) : open.length ? [back, tap('back')] : [tap('buy')];
        if (s.screen === 'item') return open.includes(s.item) ? [tap('add')] : [back, tap('back')];
        return open.length ? open.map(x => tap('i' + x)) : [tap('cart')];
      } };
  });
  shop('shop-buy', 1);
  shop('shop-buy-two', 2);
  make('files-rename', 'files-rename', 'train', 8, (r, W) => {
    const dirs = r.sample(W.label, 3), files = r.sample(W.topic, 6), i = r.int(3), x = files[2 * i + r.int(2)], n = r.pick(W.thing);
    return { s: { names: files.slice(), v: '' }, goal: r.pick([`In the folder ${dirs[i]} rename ${x} to ${n}`, `Open the folder ${dirs[i]} and rename ${x} to ${n}`]), up: s => s.screen === 'form' ? 'file' : s.screen === 'file' ? 'dir' : 'list',
      check: s => s.names[files.indexOf(x)] === n && s.names.every((y, k) => y === files[k] || files[k] === x),
      view(s, u) {
        u.title({ list: 'Files', dir: dirs[s.dir], file: s.names[s.file], form: 'Rename' }[s.screen]);
        if (s.screen === 'list') dirs.forEach((d, k) => u.row(d, d, () => { s.dir = k; s.screen = 'dir'; }));
        if (s.screen === 'dir') [0, 1].forEach(k => u.row('f' + (2 * s.dir + k), s.names[2 * s.dir + k], () => { s.file = 2 * s.dir + k; s.screen = 'file'; }));
        if (s.screen === 'file') { u.button('ren', 'Rename', () => { s.v = ''; s.screen = 'form'; }); u.button('cp', 'Copy', () => {}); }
        if (s.screen === 'form') { u.field('Name', 'Name', s.v, t => { s.v = t; }); u.button('ok', 'Save', () => { s.names[s.file] = s.v; s.screen = 'dir'; }); }
        if (s.screen !== 'list') u.button('back', 'Back', () => { s.screen = { form: 'file', file: 'dir' }[s.screen] || 'list'; }, { plain: true });
      },
      right(s) {
        const f = files.indexOf(x), spoiled = s.names.some((y, k) => k !== f && y !== files[k]) || (s.names[f] !== x && s.names[f] !== n);
        if (spoiled) return [];
        if (s.screen === 'list') return [tap(dirs[i])];
        if (s.screen === 'dir') return s.dir === i ? [tap('f' + f)] : [back, tap('back')];
        if (s.file !== f) return [back, tap('back')];
        return s.screen === 'file' ? [tap('ren')] : s.v === n ? [tap('ok')] : [type('Name', n)];
      } };
  });
  const picking = (name, title, tabs, verb, pool) => make(name, 'picking', 'train', 7, (r, W) => {
    const items = r.sample(pool(W), 6), t = r.int(2), x = items[3 * t + r.int(3)];
    return { s: { tab: 0, done: [] }, goal: r.pick([`In ${title} under ${tabs[t]} ${verb.toLowerCase()} ${x}`, `${verb} ${x} under ${tabs[t]} in ${title}`]), check: s => s.done.length === 1 && s.done[0] === x,
      view: (s, u) => { u.title(title); tabs.forEach((n, k) => u.tab('t' + k, n, s.tab === k, () => { s.tab = k; })); items.slice(3 * s.tab, 3 * s.tab + 3).forEach(y => u.toggle(y, y, s.done.includes(y), () => { s.done = s.done.includes(y) ? not(s.done, y) : [...s.done, y]; })); },
      right: s => { const w = s.done.filter(y => y !== x), here = w.filter(y => Math.floor(items.indexOf(y) / 3) === s.tab); if (here.length) return here.map(tap); if (w.length) return [tap('t' + (1 - s.tab))]; return [s.tab === t ? tap(x) : tap('t' + t)]; } };
  });
  picking('alarms-enable', 'Clock', ['Morning', 'Evening'], 'Enable', W => W.label);
  picking('todo-tick', 'Tasks', ['Work', 'Home'], 'Tick', W => W.thing);
  const searching = (name, title, verb, word, pool) => make(name, 'searching', 'test-templates', 8, (r, W) => {
    const all = r.sample(pool(W), 6), x = r.pick(all);
    return { s: { q: '', hits: [], done: [] }, goal: r.pick([`Search for ${x} and ${verb.toLowerCase()} it`, `In ${title} search for ${x} and ${verb.toLowerCase()} it`]), check: s => s.done.length === 1 && s.done[0] === x, up: s => s.screen === 'item' ? 'hits' : 'list',
      view(s, u) {
        const go = () => { s.hits = all.filter(y => y === s.q); s.hits.push(...all.filter(y => y !== s.q).slice(0, 2)); s.screen = 'hits'; };
        u.title(s.screen === 'item' ? s.item : title);
        if (s.screen === 'list') { u.field('q', 'Search', s.q, t => { s.q = t; }, go); u.button('go', 'Go', go); u.button('top', 'Trending', () => { s.hits = all.filter(y => y !== x).slice(0, 3); s.screen = 'hits'; }, { plain: true }); }
        if (s.screen === 'hits') s.hits.forEach(y => u.row('h' + y, y, () => { s.item = y; s.screen = 'item'; }));
        if (s.screen === 'item') { if (s.done.includes(s.item)) u.note(`${s.item} ${word}`); u.button('do', verb, () => { if (!s.done.includes(s.item)) s.done.push(s.item); }); u.button('share', 'Share', () => {}); }
        if (s.screen !== 'list') u.button('back', 'Back', () => { s.screen = s.screen === 'item' ? 'hits' : 'list'; }, { plain: true });
      },
      right(s) {
        if (s.done.length) return [];
        if (s.screen === 'list') return s.q === x ? [tap('go'), { a: 'keyboard_enter' }] : [type('q', x)];
        if (s.screen === 'hits') return s.hits.includes(x) ? [tap('h' + x)] : [back, tap('back')];
        return s.item === x ? [tap('do')] : [back, tap('back')];
      } };
  });
  searching('video-search', 'Videos', 'Save', 'saved', W => W.topic);
  searching('map-search', 'Maps', 'Bookmark', 'bookmarked', W => W.place);
  searching('store-install', 'Store', 'Install', 'installed', W => W.label);
})();
