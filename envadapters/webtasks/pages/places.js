'use strict';
// The family "two-places": what a goal asks for stands in one panel of the screen, and what it is done to in another, so
// an agent that sees one panel only cannot know the right action. The four panels are dealt to the corners by the seed.
(() => {
  const trained = (name, generator, max, make) => place(name, generator, 'train', max, make);
  const held = (name, generator, max, make) => place(name, generator, 'test-templates', max, make);
  const unseen = (name, generator, max, make) => place(name, generator, 'test-apps', max, make);
  const reached = { a: 'status', because: [] }; // the history shows what was done

  // place adds a template. Its make() returns the title, the goal, four panels, and the state:
  //   check(s)   whether the state that the goal asks for holds
  //   spoiled(s) whether it cannot be reached any more
  //   acts(s)    the right actions in other states, each with the keys of what supports it
  // One task in eight cannot be done, because the fact that it needs is missing: make(r, W, missing) leaves it out.
  function place(name, generator, split, max, make) {
    kit.task(name, 'two-places', generator, split, max, (r, W) => {
      const missing = r.int(8) === 0,
        a = make(r, W, missing),
        panels = r.shuffle(a.panels);
      return {
        goal: a.goal,
        impossible: missing,
        done: reached,
        s: { note: '', ...a.s },
        back: a.back,
        check: s => (missing ? !s.touched : a.check(s)),
        view(s, u) {
          u.bar(a.title, s.note);
          (a.screens ? a.screens(s, panels) : panels).forEach(p => u.panel(p.title, p.icon, v => p.view(s, v)));
        },
        right(s) {
          if (missing) return s.touched ? [] : [{ a: 'infeasible', because: a.facts }];
          return a.spoiled && a.spoiled(s) ? [] : a.acts(s);
        },
      };
    });
  }
  // set changes the state and shows what was done.
  const set = (s, change, note) => {
    Object.assign(s, change, { touched: true });
    s.note = note;
  };
  // count draws how many rows a panel has: few, or as many as fit.
  const count = (r, low, high) => low + r.int(high - low + 1);
  const without = (list, x) => list.filter(y => y !== x);

  // Panels. Facts have the keys f0, f1, ... in the order in which they are shown.
  const facts = (title, icon, pairs) => ({
    title,
    icon,
    view: (s, v) => pairs.forEach(([a, b], i) => v.pair(`f${i}`, a, b)),
  });
  const list = (title, icon, words) => ({ title, icon, view: (s, v) => words.forEach(w => v.text(w)) });
  const pairsOf = (title, icon, a, b) => ({ title, icon, view: (s, v) => a.forEach((x, i) => v.pair('', x, b[i])) });
  const fields = (title, icon, labels) => ({
    title,
    icon,
    view: (s, v) => labels.forEach(l => v.field(l, l, s.v[l], t => set(s, { v: { ...s.v, [l]: t } }, `${l}: ${t}`))),
  });
  const choices = (title, icon, words, verb) => ({
    title,
    icon,
    view: (s, v) => words.forEach(w => v.chip(`c${w}`, w, s.chosen === w, () => set(s, { chosen: w }, `${verb} ${w}`))),
  });
  const buttons = (title, icon, words, verb) => ({
    title,
    icon,
    view: (s, v) =>
      words.forEach(w =>
        v.button(`b${w}`, `${verb} ${w}`, () => set(s, { pressed: [...s.pressed, w] }, `${verb} ${w}`)),
      ),
  });

  // known draws names and one value for each. If the fact is missing, the name that the goal has is left out of what
  // is shown. It returns what is shown, the name, its value, and the key of the fact.
  function known(r, names, values, n, missing) {
    const shown = r.sample(names, n + 1),
      of = r.sample(values, n + 1),
      i = missing ? n : r.int(n);
    return {
      pairs: shown.slice(0, n).map((x, k) => [x, of[k]]),
      name: shown[i],
      value: of[i],
      key: `f${i}`,
      names: shown.slice(0, n),
      values: of,
      all: shown.slice(0, n).map((_, k) => `f${k}`),
    };
  }

  // typing is a task in which the fact is typed into the field x. A text in another field cannot be taken out again.
  const typing = (k, l, x) => ({
    s: { v: {} },
    facts: k.all,
    check: s => l.every(y => (s.v[y] || '') === (y === x ? k.value : '')),
    spoiled: s => l.some(y => y !== x && s.v[y]),
    acts: () => [{ ...type(x, k.value), because: [k.key, x] }],
  });
  // pressing is a task in which the button of the fact is pressed, once; choosing one in which its choice is taken.
  const pressing = k => ({
    s: { pressed: [] },
    facts: k.all,
    check: s => s.pressed.length === 1 && s.pressed[0] === k.value,
    spoiled: s => s.pressed.length > 0,
    acts: () => [{ ...tap(`b${k.value}`), because: [k.key, `b${k.value}`] }],
  });
  const choosing = k => ({
    s: { chosen: '' },
    facts: k.all,
    check: s => s.chosen === k.value,
    acts: () => [{ ...tap(`c${k.value}`), because: [k.key, `c${k.value}`] }],
  });

  // A code stands beside a name, and belongs into one of several fields.
  const code = (name, title, from, icon, labels, wordings) =>
    trained(name, 'code-field', 4, (r, W, missing) => {
      const k = known(r, W.first, W.code, count(r, 3, 6), missing),
        l = r.sample(labels, count(r, 2, 3)),
        x = r.pick(l);
      return {
        title,
        goal: r.pick(wordings)(k.name, x),
        ...typing(k, l, x),
        panels: [
          facts(from, icon, k.pairs),
          fields('Entry', 'pen', l),
          pairsOf('Guests', 'people', r.shuffle(k.names), r.sample(W.last, k.names.length)),
          list('Topics', 'list', r.sample(W.topic, count(r, 3, 6))),
        ],
      };
    });
  code(
    'message-code',
    'Messages',
    'Codes',
    'chat',
    ['Locker', 'Gate', 'Safe'],
    [(n, l) => `Type the code of ${n} into ${l}`, (n, l) => `Enter in ${l} the code that ${n} sent`],
  );
  code(
    'ticket-code',
    'Tickets',
    'Bookings',
    'ticket',
    ['Booking', 'Voucher', 'Coupon'],
    [(n, l) => `Put the booking of ${n} into ${l}`, (n, l) => `Fill ${l} with the booking of ${n}`],
  );
  code(
    'parcel-code',
    'Parcels',
    'Pickups',
    'box',
    ['Pickup', 'Return', 'Claim'],
    [(n, l) => `Write the pickup code of ${n} into ${l}`, (n, l) => `Type into ${l} the pickup of ${n}`],
  );

  // A number stands in the contacts, and is dialled.
  trained('contact-dial', 'dial', 5, (r, W, missing) => {
    const number = () => `${2 + r.int(8)}${r.int(10)}${r.int(10)}-${r.int(10)}${r.int(10)}${r.int(10)}${r.int(10)}`;
    const n = count(r, 3, 6),
      k = known(r, W.first, [...Array(12)].map(number), n, missing);
    return {
      title: 'Phone',
      goal: r.pick([`Call ${k.name}`, `Dial the number of ${k.name}`, `Ring ${k.name} up`]),
      s: { v: {}, called: '' },
      facts: k.all,
      panels: [
        facts('Contacts', 'people', k.pairs),
        pairsOf('Recent', 'clock', r.shuffle(k.names), r.sample(W.place, n)),
        {
          title: 'Dialler',
          icon: 'phone',
          view(s, v) {
            v.field('Number', 'Number', s.v.Number, t => set(s, { v: { Number: t } }, `Number ${t}`));
            v.button('call', 'Call', () => set(s, { called: s.v.Number || '' }, `Called ${s.v.Number || ''}`));
          },
        },
        list('Voicemail', 'mail', r.sample(W.topic, count(r, 3, 6))),
      ],
      check: s => s.called === k.value,
      spoiled: s => !!s.called,
      acts: s => [
        s.v.Number === k.value
          ? { ...tap('call'), because: [k.key, 'Number', 'call'] }
          : { ...type('Number', k.value), because: [k.key, 'Number'] },
      ],
    };
  });

  // A name belongs to a fact, and its row has the button.
  const rows = (name, title, from, icon, where, verb, pool, wordings) =>
    trained(name, 'row-button', 4, (r, W, missing) => {
      const k = known(r, pool(W), W.first, count(r, 3, 6), missing),
        order = r.shuffle(k.values.slice(0, k.names.length));
      return {
        title,
        goal: r.pick(wordings)(k.name),
        ...pressing(k),
        panels: [
          facts(from, icon, k.pairs),
          buttons(where, 'list', order, verb),
          pairsOf('Birthdays', 'cake', r.shuffle(order), r.sample(W.code, order.length)),
          list('Notes', 'note', r.sample(W.thing, count(r, 3, 6))),
        ],
      };
    });
  rows('mail-of-city', 'Mail', 'Addresses', 'people', 'Inbox', 'Archive', W => W.place, [
    x => `Archive the mail from the person in ${x}`,
    x => `Archive the mail of who lives in ${x}`,
  ]);
  rows('chat-of-team', 'Chats', 'Teams', 'people', 'Chats', 'Mute', W => W.label, [
    x => `Mute the person of the team ${x}`,
    x => `Mute who is in ${x}`,
  ]);

  // A device stands in a room, and is switched.
  trained('room-device', 'device', 4, (r, W, missing) => {
    const k = known(r, W.place, W.thing, count(r, 3, 6), missing),
      order = r.shuffle(k.values.slice(0, k.names.length));
    return {
      title: 'Home',
      goal: r.pick([`Switch on the device in ${k.name}`, `Turn on what stands in ${k.name}`]),
      s: { on: [] },
      facts: k.all,
      panels: [
        facts('Rooms', 'home', k.pairs),
        {
          title: 'Devices',
          icon: 'plug',
          view: (s, v) =>
            order.forEach(d =>
              v.toggle(`d${d}`, d, s.on.includes(d), () =>
                set(s, { on: s.on.includes(d) ? without(s.on, d) : [...s.on, d] }, `Switched ${d}`),
              ),
            ),
        },
        pairsOf('Scenes', 'star', r.sample(W.topic, 3), r.sample(W.place, 3)),
        list('Alarms', 'clock', r.sample(W.label, count(r, 3, 6))),
      ],
      check: s => s.on.length === 1 && s.on[0] === k.value,
      acts(s) {
        const wrong = s.on.filter(d => d !== k.value);
        return wrong.length
          ? wrong.map(d => ({ ...tap(`d${d}`), because: [k.key, `d${d}`] }))
          : [{ ...tap(`d${k.value}`), because: [k.key, `d${k.value}`] }];
      },
    };
  });

  // A meeting has a time, for which an alarm is chosen.
  trained('meeting-alarm', 'alarm', 4, (r, W, missing) => {
    const times = r.shuffle([...Array(12)].map((_, i) => `${8 + i}:${r.pick(['00', '15', '30', '45'])}`));
    const k = known(r, W.topic, times, count(r, 3, 6), missing),
      order = r.shuffle(k.values.slice(0, k.names.length));
    return {
      title: 'Meetings',
      goal: r.pick([`Set the alarm for the ${k.name} meeting`, `Choose the alarm of ${k.name}`]),
      ...choosing(k),
      panels: [
        facts('Meetings', 'calendar', k.pairs),
        choices('Alarms', 'clock', order, 'Alarm'),
        pairsOf('Hosts', 'people', r.shuffle(k.names), r.sample(W.first, k.names.length)),
        list('Places', 'map', r.sample(W.place, count(r, 3, 6))),
      ],
    };
  });

  // A mail has a place and a thing, which belong into the fields of a form.
  trained('mail-form', 'form', 6, (r, W, missing) => {
    const n = count(r, 2, 4),
      k = known(r, W.first, W.place, n, missing),
      things = r.sample(W.thing, n + 1),
      i = Number(k.key.slice(1));
    const thing = things[missing ? n : i],
      want = { City: k.value, Item: thing },
      open = s => ['City', 'Item'].filter(l => (s.v[l] || '') !== want[l]);
    return {
      title: 'Orders',
      goal: r.pick([`Fill the form with the order of ${k.name}`, `Enter city and item that ${k.name} asks for`]),
      s: { v: {} },
      facts: k.all,
      panels: [
        {
          title: 'Mails',
          icon: 'mail',
          view: (s, v) => k.pairs.forEach(([a, b], j) => v.pair(`f${j}`, a, `${b} ${things[j]}`)),
        },
        fields('Form', 'pen', ['City', 'Item']),
        pairsOf('Stock', 'box', r.shuffle(things.slice(0, n)), r.sample(W.code, n)),
        list('Couriers', 'truck', r.sample(W.last, count(r, 3, 6))),
      ],
      check: s => !open(s).length,
      acts: s => open(s).map(l => ({ ...type(l, want[l]), because: [k.key, l] })),
    };
  });

  // A price has to fit a budget.
  trained('budget-buy', 'budget', 4, (r, W, missing) => {
    const items = r.sample(W.thing, count(r, 3, 5) + 1),
      x = items[0],
      shown = r.shuffle(missing ? items.slice(1) : items.slice(0, -1));
    const budget = 20 + r.int(60),
      near = [budget - 1 - r.int(9), budget + 1 + r.int(9), budget + 11 + r.int(9)],
      sold = r.shuffle(near),
      wanted = near[0];
    const id = p => `b${p}`,
      bought = (s, p) => s.pressed.includes(p);
    return {
      title: 'Shop',
      goal: r.pick([`Buy the ${x} that the budget allows`, `Order a ${x} within its budget`]),
      s: { pressed: [] },
      facts: shown.map((_, i) => `f${i}`),
      panels: [
        facts(
          'Budgets',
          'wallet',
          shown.map(y => [y, String(y === x ? budget : 20 + r.int(60))]),
        ),
        {
          title: 'Offers',
          icon: 'cart',
          view: (s, v) =>
            sold.forEach(p =>
              v.button(id(p), `${x} ${p}`, () => set(s, { pressed: [...s.pressed, p] }, `Bought ${x} ${p}`)),
            ),
        },
        pairsOf(
          'Ratings',
          'star',
          shown,
          shown.map(() => `${1 + r.int(5)}/5`),
        ),
        list('Brands', 'list', r.sample(W.label, count(r, 3, 6))),
      ],
      check: s => s.pressed.length === 1 && bought(s, wanted),
      spoiled: s => s.pressed.length > 0,
      acts: () => [{ ...tap(id(wanted)), because: [`f${shown.indexOf(x)}`, id(wanted)] }],
    };
  });

  // Two amounts have one total.
  trained('bill-total', 'total', 4, (r, W, missing) => {
    const n = count(r, 3, 5),
      items = r.sample(W.thing, n + 1),
      cost = items.map(() => 1 + r.int(9)),
      i = 0,
      j = missing ? n : 1,
      sum = cost[i] + cost[j];
    const order = r.shuffle([...Array(n).keys()]),
      key = x => `f${order.indexOf(x)}`,
      totals = r.shuffle(
        [
          sum,
          ...r.sample(
            [-3, -2, -1, 1, 2, 3].map(d => sum + d).filter(t => t > 0),
            3,
          ),
        ].map(String),
      );
    return {
      title: 'Bills',
      goal: r.pick([
        `Choose the total of ${items[i]} and ${items[j]}`,
        `Pick what ${items[i]} and ${items[j]} cost together`,
      ]),
      s: { chosen: '' },
      facts: order.map((_, p) => `f${p}`),
      panels: [
        facts(
          'Costs',
          'wallet',
          order.map(x => [items[x], String(cost[x])]),
        ),
        choices('Totals', 'sum', totals, 'Total'),
        pairsOf('Payers', 'people', r.shuffle(items.slice(0, n)), r.sample(W.first, n)),
        list('Shops', 'cart', r.sample(W.label, count(r, 3, 6))),
      ],
      check: s => s.chosen === String(sum),
      acts: () => [{ ...tap(`c${sum}`), because: [key(i), key(j), `c${sum}`] }],
    };
  });

  // A seat has to be in a passenger's coach and of the kind that the passenger likes.
  trained('train-seat', 'seat', 4, (r, W, missing) => {
    const n = 3,
      k = known(r, W.first, W.label, n, missing),
      kinds = ['window', 'aisle', 'table'],
      likes = k.names.map(() => r.pick(kinds));
    const kind = missing ? kinds[0] : likes[k.names.indexOf(k.name)],
      seats = r.shuffle(
        k.pairs.flatMap(([, coach]) =>
          r
            .sample(kinds, 2)
            .map(x => `${coach} ${x}`)
            .concat(coach === k.value ? [`${coach} ${kind}`] : []),
        ),
      );
    const all = [...new Set(seats)],
      want = `${k.value} ${kind}`,
      i = k.names.indexOf(k.name);
    return {
      title: 'Train',
      goal: r.pick([`Take the seat that suits ${k.name}`, `Choose a seat for ${k.name}`]),
      s: { chosen: '' },
      facts: k.all,
      panels: [
        facts('Coaches', 'train', k.pairs),
        { title: 'Wishes', icon: 'star', view: (s, v) => k.names.forEach((x, p) => v.pair(`w${p}`, x, likes[p])) },
        choices('Seats', 'seat', all, 'Seat'),
        list('Stops', 'map', r.sample(W.place, count(r, 3, 6))),
      ],
      check: s => s.chosen === want,
      acts: () => [{ ...tap(`c${want}`), because: [k.key, `w${i}`, `c${want}`] }],
    };
  });

  // A fact is on the first screen, and the field on the next one.
  trained('note-later', 'later', 5, (r, W, missing) => {
    const k = known(r, W.topic, W.code, count(r, 3, 5), missing),
      words = r.sample(W.last, 4);
    const first = [facts('Notes', 'note', k.pairs), list('Tags', 'list', words)];
    const next = [fields('Safe', 'lock', ['Code']), list('Help', 'chat', r.sample(W.thing, 4))];
    const turn = (to, label) => ({
      title: 'Pages',
      icon: 'page',
      view: (s, v) =>
        v.button('turn', label, () => {
          s.page = to;
          s.note = label;
        }),
    });
    return {
      title: 'Notebook',
      goal: r.pick([`Type the code of ${k.name} from the notes into Code`, `Open the safe with the code of ${k.name}`]),
      s: { v: {}, page: 0 },
      facts: k.all,
      panels: [0, 1, 2, 3].map(i => ({ i })),
      screens: (s, order) =>
        order.map(
          p =>
            (s.page
              ? [...next, turn(0, 'Notes'), list('Keys', 'lock', [])]
              : [...first, turn(1, 'Safe'), list('Dates', 'calendar', words.slice(1))])[p.i],
        ),
      check: s => s.v.Code === k.value,
      acts: s => [
        s.page ? { ...type('Code', k.value), because: [k.key, 'Code'] } : { ...tap('turn'), because: [k.key, 'turn'] },
      ],
    };
  });

  // Held-out generators.
  held('flight-gate', 'gate', 4, (r, W, missing) => {
    const gates = r.shuffle([...'ABCDEF'].flatMap(a => [1, 2, 3].map(b => a + b))),
      k = known(r, W.place, gates, count(r, 3, 6), missing),
      order = r.shuffle(k.values.slice(0, k.names.length));
    return {
      title: 'Airport',
      goal: r.pick([`Show the way to the gate of the flight to ${k.name}`, `Choose the gate for ${k.name}`]),
      ...choosing(k),
      panels: [
        facts('Departures', 'plane', k.pairs),
        choices('Gates', 'map', order, 'Gate'),
        pairsOf(
          'Delays',
          'clock',
          r.shuffle(k.names),
          r.sample(['0:05', '0:10', '0:15', '0:20', '0:25', '0:30', '0:40'], k.names.length),
        ),
        list('Shops', 'cart', r.sample(W.label, count(r, 3, 6))),
      ],
    };
  });
  held('locker-open', 'locker', 4, (r, W, missing) => {
    const k = known(r, W.first, W.label, count(r, 3, 6), missing),
      order = r.shuffle(k.values.slice(0, k.names.length));
    return {
      title: 'Lockers',
      goal: r.pick([`Open the locker of ${k.name}`, `Unlock where the parcel of ${k.name} is`]),
      ...pressing(k),
      panels: [
        facts('Parcels', 'box', k.pairs),
        buttons('Doors', 'lock', order, 'Open'),
        pairsOf(
          'Sizes',
          'list',
          order,
          order.map(() => r.pick(['small', 'large'])),
        ),
        list('Couriers', 'truck', r.sample(W.last, count(r, 3, 6))),
      ],
    };
  });

  // Apps that no agent has seen.
  unseen('clinic-room', 'clinic', 4, (r, W, missing) => {
    const k = known(r, W.last, W.label, count(r, 3, 6), missing),
      order = r.shuffle(k.values.slice(0, k.names.length));
    return {
      title: 'Clinic',
      goal: r.pick([`Send the patient ${k.name} to the right room`, `Call ${k.name} into the room of the plan`]),
      ...choosing(k),
      panels: [
        facts('Plan', 'calendar', k.pairs),
        choices('Rooms', 'home', order, 'Room'),
        pairsOf('Doctors', 'people', r.shuffle(order), r.sample(W.first, order.length)),
        list('Waiting', 'list', r.shuffle(k.names)),
      ],
    };
  });
  unseen('clinic-dose', 'clinic', 4, (r, W, missing) => {
    const k = known(r, W.last, W.code, count(r, 3, 6), missing),
      l = r.sample(['Morning', 'Noon', 'Evening'], 2),
      x = r.pick(l);
    return {
      title: 'Clinic',
      goal: r.pick([`Note the medicine of ${k.name} under ${x}`, `Type into ${x} the medicine of ${k.name}`]),
      ...typing(k, l, x),
      panels: [
        facts('Medicines', 'pill', k.pairs),
        fields('Chart', 'pen', l),
        pairsOf('Beds', 'home', r.shuffle(k.names), r.sample(W.label, k.names.length)),
        list('Nurses', 'people', r.sample(W.first, count(r, 3, 6))),
      ],
    };
  });
  unseen('library-shelf', 'library', 4, (r, W, missing) => {
    const k = known(r, W.topic, W.label, count(r, 3, 6), missing),
      order = r.shuffle(k.values.slice(0, k.names.length));
    return {
      title: 'City library',
      goal: r.pick([`Return the book on ${k.name} to its shelf`, `Put the ${k.name} book where it belongs`]),
      ...pressing(k),
      panels: [
        facts('Catalogue', 'book', k.pairs),
        buttons('Shelves', 'list', order, 'Shelf'),
        pairsOf('Authors', 'people', r.shuffle(k.names), r.sample(W.last, k.names.length)),
        list('Readers', 'people', r.sample(W.first, count(r, 3, 6))),
      ],
    };
  });
  unseen('library-card', 'library', 4, (r, W, missing) => {
    const k = known(r, W.first, W.code, count(r, 3, 6), missing),
      l = ['Card', 'Fine'],
      x = r.pick(l);
    return {
      title: 'City library',
      goal: r.pick([`Enter the card of ${k.name} under ${x}`, `Type into ${x} the card of ${k.name}`]),
      ...typing(k, l, x),
      panels: [
        facts('Cards', 'ticket', k.pairs),
        fields('Desk', 'pen', l),
        pairsOf('Loans', 'book', r.shuffle(k.names), r.sample(W.topic, k.names.length)),
        list('Rooms', 'home', r.sample(W.place, count(r, 3, 6))),
      ],
    };
  });
})();
