'use strict';
// The families "pictures" and "words": four tiles. In "pictures", the goal names what only the picture shows: a colour, an
// icon, a badge or a place. In "words", it names a text or a state.
(() => {
  const COLOURS = ['red', 'blue', 'green', 'yellow', 'black', 'purple'];
  // The goal's names of icons, with the class that draws them.
  const ICONS = { bin: 'bin', cart: 'cart', clock: 'clock', letter: 'mail', lock: 'lock', phone: 'phone', star: 'star' };
  const PLACES = ['top left', 'top right', 'bottom left', 'bottom right'];

  // tiles adds a template. Its make() returns the goal, the tiles and the number of the right one. order holds the place
  // of each tile on the page; by default, tiles stand in the order in which the text lists them.
  const tiles = (name, group, make) =>
    kit.task(name, group, name, 'train', 2, (r, W) => {
      const a = make(r, W),
        order = a.order || a.tiles.map((_, i) => i);
      return {
        goal: a.goal,
        s: {},
        view(s, u) {
          u.title('Tiles');
          a.tiles.forEach((t, i) => u.tile(`t${i}`, { ...t, order: order[i] }, () => kit.end(i === a.x)));
        },
        right: () => [{ ...tap(`t${a.x}`), because: [`t${a.x}`] }],
      };
    });

  tiles('tap-colour', 'pictures', r => {
    const colours = r.sample(COLOURS, 4),
      x = r.int(4);
    return { goal: r.pick([`Tap the ${colours[x]} tile`, `Press ${colours[x]}`]), x, tiles: colours.map(c => ({ colour: c })) };
  });
  tiles('tap-icon', 'pictures', r => {
    const names = r.sample(Object.keys(ICONS), 4),
      x = r.int(4);
    return { goal: r.pick([`Tap the ${names[x]}`, `Press the tile with the ${names[x]}`]), x, tiles: names.map(n => ({ icon: ICONS[n] })) };
  });
  tiles('tap-place', 'pictures', r => {
    const order = r.shuffle([0, 1, 2, 3]),
      x = r.int(4),
      at = PLACES[order[x]];
    return { goal: r.pick([`Tap the ${at} tile`, `Press the tile at the ${at}`]), x, order, tiles: order.map(() => ({ colour: 'blue' })) };
  });
  tiles('tap-badge', 'pictures', r => {
    const x = r.int(4);
    return { goal: r.pick(['Tap the tile with the dot', 'Press what has a dot']), x, tiles: [0, 1, 2, 3].map(i => ({ badge: i === x })) };
  });

  tiles('tap-word', 'words', (r, W) => {
    const words = r.sample(W.label, 4),
      x = r.int(4);
    return { goal: r.pick([`Tap the ${words[x]} tile`, `Press ${words[x]}`]), x, tiles: words.map(t => ({ text: t, colour: r.pick(COLOURS) })) };
  });
  tiles('tap-selected', 'words', r => {
    const x = r.int(4),
      dot = r.int(4);
    return { goal: r.pick(['Tap the selected tile', 'Press what is selected']), x, tiles: [0, 1, 2, 3].map(i => ({ selected: i === x, badge: i === dot })) };
  });
})();
