'use strict';
// The first script of the adapter. It runs before every page's own scripts. It makes time and chance functions of the
// seed, learns which elements listen to clicks, and keeps the page from leaving. Its only global is collabui.
const collabui = (() => {
  const EPOCH = 1704067200000, FRAME = 16; // ms
  const CLICKS = new Set(['click', 'dblclick', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'touchstart', 'touchend']);

  // --- chance and time ---
  let state = 1; // The state before the page's reset.
  Math.random = () => {
    state = (state + 0x6D2B79F5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  // The page's clock is virtual. It moves in run only, so timers fire in the same order at the same times on every
  // machine.
  const Real = Date, timers = new Map();
  let clock = 0, began = 0, last = 0;
  const now = () => EPOCH + clock - began;
  function later(f, wait, every, args) {
    wait = Math.max(1, Number(wait) || 0);
    timers.set(++last, { f, args, at: clock + wait, every: every ? wait : 0 });
    return last;
  }
  window.setTimeout = (f, wait, ...args) => later(f, wait, false, args);
  window.setInterval = (f, wait, ...args) => later(f, wait, true, args);
  window.requestAnimationFrame = f => later(() => f(clock), FRAME, false, []);
  window.requestIdleCallback = f => later(() => f({ didTimeout: false, timeRemaining: () => FRAME }), 1, false, []);
  window.clearTimeout = window.clearInterval = window.cancelAnimationFrame = window.cancelIdleCallback = id => { timers.delete(id); };
  performance.now = () => clock;
  // run advances the clock by some milliseconds.
  async function run(ms) {
    const end = clock + ms;
    for (;;) {
      let id = 0, t = null;
      for (const [k, x] of timers) if (x.at <= end && (!t || x.at < t.at)) { id = k; t = x; }
      if (!t) break;
      clock = Math.max(clock, t.at);
      if (t.every) t.at = clock + t.every; else timers.delete(id);
      try {
        if (typeof t.f === 'function') t.f.apply(window, t.args); else (0, eval)(String(t.f));
      } catch (e) { reportError(e); }
      await null; // Run what waits for promises.
    }
    clock = end;
  }
  window.Date = new Proxy(Real, {
    construct: (t, args, n) => Reflect.construct(t, args.length ? args : [now()], n),
    apply: () => new Real(now()).toString(),
    get: (t, k) => k === 'now' ? now : t[k],
  });
  Real.prototype.constructor = window.Date;

  // --- what listens to clicks, and what must not leave the page ---
  const heard = new WeakSet(), listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if (CLICKS.has(type) && this instanceof Element) heard.add(this);
    return listen.call(this ?? window, type, ...rest);
  };
  listen.call(window, 'submit', e => e.preventDefault());
  listen.call(window, 'click', e => {
    const a = e.target.closest && e.target.closest('a[href]');
    if (a && !/^(#|javascript:)/.test(a.getAttribute('href'))) e.preventDefault();
  });

  return {
    run, heard,
    begin() { began = clock; }, // From now on the clock counts from the epoch.
  };
})();
