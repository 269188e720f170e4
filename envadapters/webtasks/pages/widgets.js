'use strict';
// The family "widgets": single pages in the manner of MiniWoB. The page itself ends the episode; most wrong taps end it as lost.
(() => {
  // Most templates have a generator of their own. All templates of a generator are in one split.
  const generator = (name, split) => (template, max, make) => kit.task(template, 'widgets', name, split, max, make);
  const trained = (name, max, make) => generator(name, 'train')(name, max, make);
  const held = (name, max, make) => generator(name, 'test-templates')(name, max, make);
  const checksOf = generator('checks', 'train'), radiosOf = generator('radios', 'train'), formOf = generator('form', 'train');
  const lose = () => kit.end(false), win = () => kit.end(true);
  const same = (a, b) => a.length === b.length && a.every(x => b.includes(x));
  // toggles switches one member of a set.
  const flip = (set, x) => { const i = set.indexOf(x); if (i < 0) set.push(x); else set.splice(i, 1); };

  trained('tap-button', 3, (r, W) => {
    const names = r.sample(W.label, 4 + r.int(4)), x = names[0], order = r.shuffle(names);
    return { goal: r.pick([`Tap the ${x} button`, `Press ${x}`, `Tap ${x}`]), s: {}, view: (s, u) => { u.title('Buttons'); order.forEach(n => u.button(n, n, n === x ? win : lose)); }, right: () => [tap(x)] };
  });
  trained('tap-link', 3, (r, W) => {
    const names = r.sample(W.topic, 4 + r.int(4)), x = names[0], order = r.shuffle(names);
    return { goal: r.pick([`Open the link ${x}`, `Follow the ${x} link`, `Tap the link ${x}`]), s: {}, view: (s, u) => { u.title('Reading list'); order.forEach(n => u.link(n, n, n === x ? win : lose)); }, right: () => [tap(x)] };
  });
  trained('tap-role', 3, (r, W) => {
    const names = r.sample(W.label, 3), x = names[0], role = r.pick(['button', 'link']), order = r.shuffle(names.flatMap(n => [[n, 'button'], [n, 'link']]));
    return { goal: r.pick([`Tap the ${role} ${x}`, `Tap the ${x} ${role}`]), s: {}, view: (s, u) => { u.title('Mixed'); order.forEach(([n, t]) => u[t](t + n, n, n === x && t === role ? win : lose)); }, right: () => [tap(role + x)] };
  });
  trained('choose-tab', 4, (r, W) => {
    const names = r.sample(W.topic, 3), x = names[1 + r.int(2)], word = r.sample(W.thing, 3);
    const b = word[names.indexOf(x)];
    return { goal: r.pick([`Open the ${x} tab and tap ${b}`, `On the tab ${x} tap ${b}`]), s: { tab: names[0] },
      view: (s, u) => { u.title('Tabs'); names.forEach(n => u.tab(n, n, s.tab === n, () => { s.tab = n; })); u.button('b', word[names.indexOf(s.tab)], () => kit.end(s.tab === x)); },
      right: s => [s.tab === x ? tap('b') : tap(x)] };
  });
  const checks = (r, W, n, pre, title) => {
    const names = r.sample(W.thing, 4 + r.int(3)), want = names.slice(0, n), on = pre ? [names[names.length - 1]] : [], order = r.shuffle(names);
    return { want, s: { on }, view: (s, u) => { u.title(title); order.forEach(x => u.check(x, x, s.on.includes(x), () => flip(s.on, x))); u.button('go', 'Submit', () => kit.end(same(s.on, want))); },
      right: s => { const wrong = order.filter(x => want.includes(x) !== s.on.includes(x)); return wrong.length ? wrong.map(tap) : [tap('go')]; } };
  };
  checksOf('check-boxes', 6, (r, W) => { const c = checks(r, W, 2, false, 'Packing list'); return { ...c, goal: r.pick([`Check ${c.want[0]} and ${c.want[1]} then tap Submit`, `Select ${c.want.join(' and ')} and submit`]) }; });
  checksOf('check-one', 6, (r, W) => { const c = checks(r, W, 1, true, 'Order form'); return { ...c, goal: r.pick([`Check only ${c.want[0]} then tap Submit`, `Select only ${c.want[0]} and submit`]) }; });
  checksOf('check-three', 7, (r, W) => { const c = checks(r, W, 3, false, 'Shopping list'); return { ...c, goal: r.pick([`Check ${c.want[0]} and ${c.want[1]} and ${c.want[2]} then tap Submit`, `Select ${c.want.join(' and ')} and submit`]) }; });
  const radios = (r, W, groups) => {
    const pool = r.sample(W.topic, 4 * groups), gs = [...Array(groups).keys()].map(i => pool.slice(4 * i, 4 * i + 4)), want = gs.map(g => r.pick(g));
    return { want, s: { sel: gs.map(() => '') }, view: (s, u) => { u.title('Survey'); gs.forEach((g, i) => { u.text('Question ' + (i + 1)); g.forEach(x => u.radio(x, x, s.sel[i] === x, () => { s.sel[i] = x; })); }); u.button('go', 'Submit', () => kit.end(want.every((x, i) => s.sel[i] === x))); },
      right: s => { const open = want.filter((x, i) => s.sel[i] !== x); return open.length ? open.map(tap) : [tap('go')]; } };
  };
  radiosOf('choose-radio', 5, (r, W) => { const c = radios(r, W, 1); return { ...c, goal: r.pick([`Choose ${c.want[0]} then tap Submit`, `Choose ${c.want[0]} and submit`]) }; });
  radiosOf('choose-two-radios', 7, (r, W) => { const c = radios(r, W, 2); return { ...c, goal: r.pick([`Choose ${c.want[0]} and ${c.want[1]} then tap Submit`, `Choose ${c.want.join(' and ')} and submit`]) }; });
  held('drop-down', 6, (r, W) => {
    const names = r.sample(W.place, 4 + r.int(2)), x = r.pick(names), label = r.pick(['City', 'Airport', 'Branch', 'Office']);
    return { goal: r.pick([`Pick ${x} from the ${label} list then tap Submit`, `Set ${label} to ${x} and submit`]), s: { v: '' },
      view: (s, u) => { u.title('Where'); u.select('sel', label, s.v, names, s, o => { s.v = o; }); u.button('go', 'Submit', () => kit.end(s.v === x)); },
      right: s => s.v === x ? [tap('go')] : s.open ? [tap('sel/' + x)] : [tap('sel')] };
  });
  // form asks for the texts of some fields, in any order, then for a button.
  const form = (title, labels, want, submit, s = { v: {} }) => ({ s,
    view: (s, u) => { u.title(title); labels.forEach(l => u.field(l, l, s.v[l], t => { s.v[l] = t; })); u.button('go', submit, () => kit.end(labels.every(l => (s.v[l] || '') === (want[l] || '')))); u.button('no', 'Cancel', lose, { plain: true }); },
    right: s => { const open = labels.filter(l => (s.v[l] || '') !== (want[l] || '')); return open.length ? open.map(l => type(l, want[l] || '')) : [tap('go')]; } });
  formOf('enter-text', 4, (r, W) => {
    const labels = r.sample(['Title', 'Comment', 'Code', 'City', 'Nickname'], 2 + r.int(2)), l = labels[0], t = r.sample(W.thing, 1 + r.int(3)).join(' ');
    return { ...form('Form', r.shuffle(labels), { [l]: t }, 'Submit'), goal: r.pick([`Type ${t} into ${l} then tap Submit`, `Enter ${t} in the field ${l} and submit`]) };
  });
  formOf('sign-in', 5, (r, W) => {
    const n = r.pick(W.first), p = r.pick(W.code);
    return { ...form('Sign in', ['User', 'Password'], { User: n, Password: p }, 'Login'), goal: r.pick([`Sign in with user ${n} and password ${p}`, `Login as user ${n} with password ${p}`]) };
  });
  formOf('enter-two-texts', 5, (r, W) => {
    const [a, b, c] = r.sample(['Title', 'Comment', 'Code', 'City', 'Nickname'], 3), [x, y] = r.sample(W.thing, 2);
    return { ...form('Form', r.shuffle([a, b, c]), { [a]: x, [b]: y }, 'Submit'), goal: r.pick([`Type ${x} into ${a} and ${y} into ${b} then tap Submit`, `Enter ${x} in the field ${a} and ${y} in the field ${b} and submit`]) };
  });
  trained('close-dialog', 3, (r, W) => {
    const names = r.sample(W.label, 3), bs = r.sample(['Accept', 'Decline', 'Later', 'Close', 'Retry'], 3), x = bs[0], order = r.shuffle(bs);
    return { goal: r.pick([`Tap ${x} in the dialog`, `Answer the dialog with ${x}`]), s: {}, view: (s, u) => { u.title('News'); names.forEach(n => u.button(n, n, lose)); u.dialog(d => { d.text("A new version is here"); order.forEach(b => d.button('d' + b, b, b === x ? win : lose)); }); }, right: () => [tap('d' + x)] };
  });
  held('open-dialog', 4, (r, W) => {
    const names = r.sample(W.label, 4), x = r.pick(names), bs = r.shuffle(['Accept', 'Decline', 'Later']), y = r.pick(bs);
    return { goal: r.pick([`Tap ${x} then ${y} in the dialog`, `Press ${x} and answer the dialog with ${y}`]), s: {},
      view: (s, u) => { u.title('Actions'); names.forEach(n => u.button(n, n, n === x ? () => { s.dlg = true; } : lose)); if (s.dlg) u.dialog(d => { d.text('Are you sure'); bs.forEach(b => d.button('d' + b, b, b === y ? win : lose)); }); },
      right: s => [tap(s.dlg ? 'd' + y : x)] };
  });
  held('pick-date', 4, (r, W) => {
    const from = 1 + r.int(18), days = [...Array(9).keys()].map(i => from + i), x = r.pick(days), month = r.pick(['January', 'March', 'May', 'July', 'August', 'October']);
    return { goal: r.pick([`Pick ${month} ${x} then tap Done`, `Choose day ${x} of ${month} then tap Done`]), s: { d: 0 },
      view: (s, u) => { u.title(month); days.forEach(d => u.radio('d' + d, String(d) + ' day', s.d === d, () => { s.d = d; })); u.button('go', 'Done', () => kit.end(s.d === x)); }, right: s => [s.d === x ? tap('go') : tap('d' + x)] };
  });
  trained('scroll-list', 6, (r, W) => {
    const names = r.sample([...W.last, ...W.first], 22), x = r.pick(names);
    return { goal: r.pick([`Tap ${x} in the list`, `Find ${x} and tap it`]), s: {}, view: (s, u) => { u.title('Members'); names.forEach(n => u.row(n, n, n === x ? win : lose)); }, right: () => [tap(x)] };
  });
  trained('stepper', 7, (r, W) => {
    const label = r.pick(['Guests', 'Copies', 'Tickets', 'Rooms', 'Seats']), from = 1 + r.int(3), x = from + 1 + r.int(3);
    return { goal: r.pick([`Set ${label} to ${x} then tap Done`, `Increase ${label} to ${x} then tap Done`]), s: { n: from },
      view: (s, u) => { u.title('Booking'); u.text(`${label} ${s.n}`, 'n'); u.button('+', 'More', () => { s.n++; }); u.button('-', 'Less', () => { s.n--; }); u.button('go', 'Done', () => kit.end(s.n === x)); },
      right: s => [s.n === x ? tap('go') : s.n < x ? tap('+') : tap('-')] };
  });
  trained('toggle-switches', 6, (r, W) => {
    const names = r.sample(W.setting, 5), [a, b] = names, order = r.shuffle(names), on = r.shuffle(names).slice(0, 2).filter(n => n !== a);
    if (!on.includes(b)) on.push(b);
    return { goal: r.pick([`Turn on ${a} and turn off ${b} then tap Done`, `Switch ${a} on and ${b} off then tap Done`]), s: { on },
      view: (s, u) => { u.title('Switches'); order.forEach(n => u.toggle(n, n, s.on.includes(n), () => flip(s.on, n))); u.button('go', 'Done', () => kit.end(s.on.includes(a) && !s.on.includes(b))); },
      right: s => { const w = [...(s.on.includes(a) ? [] : [a]), ...(s.on.includes(b) ? [b] : [])]; return w.length ? w.map(tap) : [tap('go')]; } };
  });
  trained('hold-button', 3, (r, W) => {
    const names = r.sample(W.label, 5), x = r.pick(names);
    return { goal: r.pick([`Long press ${x}`, `Hold the ${x} button`]), s: {}, view: (s, u) => { u.title('Buttons'); names.forEach(n => u.button(n, n, lose, { long: n === x ? win : lose })); }, right: () => [{ a: 'long_press', k: x }] };
  });
  trained('double-tap', 3, (r, W) => {
    const names = r.sample(W.label, 5), x = r.pick(names);
    return { goal: r.pick([`Double tap ${x}`, `Tap ${x} twice quickly`]), s: {}, view: (s, u) => { u.title('Pictures'); names.forEach(n => u.button(n, n, null, { long: lose, twice: n === x ? win : lose })); }, right: () => [{ a: 'double_tap', k: x }] };
  });
  held('tap-in-order', 5, (r, W) => {
    const names = r.sample(W.label, 5), [a, b] = names, order = r.shuffle(names);
    return { goal: r.pick([`Tap ${a} then tap ${b}`, `Press ${a} and then ${b}`]), s: { n: 0 }, view: (s, u) => { u.title('Sequence'); order.forEach(n => u.button(n, n, () => { if (n !== [a, b][s.n]) lose(); else if (++s.n === 2) win(); })); if (s.n) u.note(`${a} was tapped`); }, right: s => [tap([a, b][s.n])] };
  });
  trained('search-box', 4, (r, W) => {
    const t = r.sample(W.topic, 1 + r.int(2)).join(' ');
    return { goal: r.pick([`Search for ${t}`, `Type ${t} into Search and tap Go`]), s: { q: '' }, view: (s, u) => { const go = () => kit.end(s.q === t); u.title('Library'); u.field('q', 'Search', s.q, v => { s.q = v; }, go); u.button('go', 'Go', go); u.button('no', 'Help', lose, { plain: true }); },
      right: s => s.q === t ? [tap('go'), { a: 'keyboard_enter' }] : [type('q', t)] };
  });
  held('expand-section', 5, (r, W) => {
    const secs = r.sample(W.topic, 3), x = r.pick(secs), words = r.sample(W.thing, 6), mine = words.slice(2 * secs.indexOf(x), 2 * secs.indexOf(x) + 2), y = r.pick(mine);
    return { goal: r.pick([`Expand ${x} and tap ${y}`, `Open the section ${x} and tap ${y}`]), s: { sec: '' }, view: (s, u) => { u.title('Help'); secs.forEach((n, i) => { u.row(n, n, () => { s.sec = n; }); if (s.sec === n) words.slice(2 * i, 2 * i + 2).forEach(w => u.link(w, w, w === y ? win : lose)); }); }, right: s => [tap(s.sec === x ? y : x)] };
  });
})();
