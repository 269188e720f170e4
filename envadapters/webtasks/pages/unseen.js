'use strict';
// The split test-apps: apps that no agent has seen. Their titles, screens and generators occur in no other split.
(() => {
  const unseen = (name, max, make) => kit.app(name, name, 'test-apps', max, make);

  // Bank.
  unseen('bank-pay', 9, (r, W) => {
    const people = r.sample(W.first, 5), x = r.pick(people), code = r.pick(W.code);
    return { s: { v: '', paid: [] }, goal: r.pick([`Pay ${x} with reference ${code}`, `In Bank pay ${x} and give the reference ${code}`]),
      check: s => s.paid.length === 1 && s.paid[0] === x + ' ' + code, back: s => { if (s.ask) s.ask = false; else s.screen = 'list'; },
      view(s, u) {
        u.title(s.screen === 'list' ? 'Bank' : s.who);
        if (s.paid.length) u.note('Paid');
        if (s.screen === 'list') people.forEach(p => u.row('p' + p, p, () => { s.who = p; s.v = ''; s.screen = 'pay'; }));
        else { u.field('code', 'Reference', s.v, t => { s.v = t; }); u.button('pay', 'Pay', () => { s.ask = true; }); u.button('back', 'Back', () => { s.screen = 'list'; }, { plain: true }); }
        if (s.ask) u.dialog(d => { d.text(`Pay ${s.who}`); d.button('yes', 'Confirm', () => { s.paid.push(s.who + ' ' + s.v); s.ask = false; s.screen = 'list'; }); d.button('no', 'Cancel', () => { s.ask = false; }, { plain: true }); });
      },
      right: s => s.paid.length ? [] : s.ask ? [tap(s.who === x && s.v === code ? 'yes' : 'no')] : s.screen === 'list' ? [tap('p' + x)] : s.who !== x ? [back, tap('back')] : s.v === code ? [tap('pay')] : [type('code', code)] };
  });
  unseen('bank-freeze', 8, (r, W) => {
    const cards = r.sample(W.label, 4), x = r.pick(cards), up = { card: 'cards' };
    return { s: { frozen: [] }, goal: r.pick([`Freeze the card ${x}`, `In Bank under Cards freeze ${x}`]), check: s => s.frozen.length === 1 && s.frozen[0] === x, up: s => up[s.screen] || 'list',
      view(s, u) {
        u.title({ list: 'Bank', cards: 'Cards', card: s.card, accounts: 'Accounts' }[s.screen]);
        if (s.screen === 'list') { u.row('accounts', 'Accounts', () => { s.screen = 'accounts'; }); u.row('cards', 'Cards', () => { s.screen = 'cards'; }); }
        if (s.screen === 'accounts') u.text('One account');
        if (s.screen === 'cards') cards.forEach(c => u.row('c' + c, c + (s.frozen.includes(c) ? ' frozen' : ''), () => { s.card = c; s.screen = 'card'; }));
        if (s.screen === 'card') { u.toggle('online', 'Online', true, () => {}); u.toggle('freeze', 'Freeze', s.frozen.includes(s.card), () => { s.frozen = s.frozen.includes(s.card) ? s.frozen.filter(c => c !== s.card) : [...s.frozen, s.card]; }); }
        if (s.screen !== 'list') u.button('back', 'Back', () => { s.screen = up[s.screen] || 'list'; }, { plain: true });
      },
      right(s) {
        const c = s.frozen.find(c => c !== x) || x;
        return s.screen === 'list' ? [tap('cards')] : s.screen === 'cards' ? [tap('c' + c)] : s.screen === 'card' && s.card === c ? [tap('freeze')] : [back, tap('back')];
      } };
  });

  // Recipes.
  unseen('recipe-cook', 7, (r, W) => {
    const recipes = r.sample(W.topic, 4), x = r.pick(recipes), sizes = ['2', '4', '6'], n = r.pick(sizes);
    return { s: { n: '' }, goal: r.pick([`Cook ${x} for ${n} persons`, `In Recipes start ${x} for ${n} persons`]), check: s => !!s.cooked && s.cooked[0] === x && s.cooked[1] === n,
      view(s, u) {
        u.title(s.screen === 'list' ? 'Recipes' : s.item);
        if (s.cooked) u.note(`Cooking ${s.cooked[0]}`);
        if (s.screen === 'list') { recipes.forEach(y => u.row('r' + y, y, () => { s.item = y; s.n = ''; s.screen = 'item'; })); return; }
        sizes.forEach(k => u.radio('n' + k, k + ' persons', s.n === k, () => { s.n = k; }));
        u.button('cook', 'Start cooking', () => { if (s.n && !s.cooked) { s.cooked = [s.item, s.n]; s.screen = 'list'; } });
        u.button('back', 'Back', () => { s.screen = 'list'; }, { plain: true });
      },
      right: s => s.cooked ? [] : s.screen === 'list' ? [tap('r' + x)] : s.item !== x ? [back, tap('back')] : [tap(s.n === n ? 'cook' : 'n' + n)] };
  });
  unseen('recipe-check', 8, (r, W) => {
    const recipes = r.sample(W.topic, 3), words = r.sample(W.thing, 9), of = y => words.slice(3 * recipes.indexOf(y), 3 * recipes.indexOf(y) + 3), x = r.pick(recipes), want = r.sample(of(x), 2);
    const wrong = s => words.filter(w => want.includes(w) !== s.on.includes(w));
    return { s: { on: [] }, goal: r.pick([`In the recipe ${x} check ${want[0]} and ${want[1]}`, `Open the recipe ${x} and check ${want[0]} and ${want[1]}`]), check: s => !wrong(s).length,
      view(s, u) {
        u.title(s.screen === 'list' ? 'Recipes' : s.item);
        if (s.screen === 'list') { recipes.forEach(y => u.row('r' + y, y, () => { s.item = y; s.screen = 'item'; })); return; }
        of(s.item).forEach(w => u.check(w, w, s.on.includes(w), () => { s.on = s.on.includes(w) ? s.on.filter(y => y !== w) : [...s.on, w]; }));
        u.button('back', 'Back', () => { s.screen = 'list'; }, { plain: true });
      },
      right(s) {
        const here = s.screen === 'item' ? wrong(s).filter(w => of(s.item).includes(w)) : [];
        return here.length ? here.map(tap) : s.screen === 'item' ? [back, tap('back')] : wrong(s).map(w => tap('r' + recipes[Math.floor(words.indexOf(w) / 3)]));
      } };
  });

  // Calendar.
  unseen('event-move', 8, (r, W) => {
    const days = ['Monday', 'Tuesday', 'Wednesday'], events = r.sample(W.topic, 6), start = events.map((_, i) => Math.floor(i / 2)), x = r.int(6), to = (start[x] + 1 + r.int(2)) % 3;
    return { s: { tab: 0, at: start.slice() }, goal: r.pick([`Move ${events[x]} from ${days[start[x]]} to ${days[to]}`, `In Calendar move the event ${events[x]} under ${days[start[x]]} to ${days[to]}`]),
      check: s => s.at.every((d, i) => d === (i === x ? to : start[i])),
      view(s, u) {
        u.title(s.screen === 'list' ? 'Calendar' : events[s.item]);
        if (s.screen === 'list') { days.forEach((d, k) => u.tab('t' + k, d, s.tab === k, () => { s.tab = k; })); events.forEach((e, i) => { if (s.at[i] === s.tab) u.row('e' + i, e, () => { s.item = i; s.day = s.at[i]; s.screen = 'item'; }); }); return; }
        days.forEach((d, k) => u.radio('d' + k, d, s.day === k, () => { s.day = k; }));
        u.button('save', 'Save', () => { s.at[s.item] = s.day; s.screen = 'list'; });
        u.button('back', 'Back', () => { s.screen = 'list'; }, { plain: true });
      },
      right(s) {
        const i = s.at.findIndex((d, i) => d !== (i === x ? to : start[i])), want = i === x ? to : start[i];
        return s.screen === 'item' ? (s.item !== i ? [back, tap('back')] : [tap(s.day === want ? 'save' : 'd' + want)]) : [tap(s.tab === s.at[i] ? 'e' + i : 't' + s.at[i])];
      } };
  });
  unseen('event-invite', 8, (r, W) => {
    const events = r.sample(W.thing, 4), people = r.sample(W.first, 4), x = r.pick(events), p = r.pick(people), key = x + '/' + p, up = { guests: 'item' };
    return { s: { in: [] }, goal: r.pick([`Invite ${p} to the event ${x}`, `In Calendar invite ${p} to ${x}`]), check: s => s.in.length === 1 && s.in[0] === key, up: s => up[s.screen] || 'list',
      view(s, u) {
        u.title({ list: 'Calendar', item: s.item, guests: 'Guests' }[s.screen]);
        if (s.screen === 'list') events.forEach(e => u.row('e' + e, e, () => { s.item = e; s.screen = 'item'; }));
        if (s.screen === 'item') { u.text('All day'); u.button('guests', 'Invite guests', () => { s.screen = 'guests'; }); }
        if (s.screen === 'guests') people.forEach(q => { const k = s.item + '/' + q; u.toggle('g' + q, q, s.in.includes(k), () => { s.in = s.in.includes(k) ? s.in.filter(y => y !== k) : [...s.in, k]; }); });
        if (s.screen !== 'list') u.button('back', 'Back', () => { s.screen = up[s.screen] || 'list'; }, { plain: true });
      },
      right(s) {
        const [e, q] = (s.in.find(k => k !== key) || key).split('/');
        return s.screen === 'list' ? [tap('e' + e)] : s.item !== e ? [back, tap('back')] : [tap(s.screen === 'item' ? 'guests' : 'g' + q)];
      } };
  });
})();
