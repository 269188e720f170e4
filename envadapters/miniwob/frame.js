'use strict';
// The page around the pages. Every episode's page gets a new frame, so its globals are as fresh as after a navigation,
// which costs several times as much. The files of pages are fetched once per tab.
window.collabui = (() => {
  const SCRIPT = /<script src="([^"]+)"><\/script>/g, SHEET = /<link rel="stylesheet"[^>]*? href="([^"]+)"[^>]*>/g;
  const URLS = /url\(["']?([^"')]+)["']?\)/g;
  const texts = new Map(), pages = new Map(), images = new Map();
  let frame = null;

  async function text(url) {
    if (!texts.has(url)) {
      const r = await fetch(url).catch(e => { throw Object.assign(e, { lost: url }); });
      if (!r.ok) throw new Error(`${url}: ${r.status} ${r.statusText}`);
      texts.set(url, await r.text());
    }
    return texts.get(url);
  }
  const resolve = (to, base) => URL.parse(to, base)?.href;
  const absolute = (css, base) => css.replace(URLS, (url, to) => resolve(to, base) ? `url("${resolve(to, base)}")` : url);

  // draw waits for the images of style sheets, and keeps them, so that they are there as soon as a page uses them.
  async function draw(css, base) {
    const wait = [];
    for (const [, to] of css.matchAll(URLS)) {
      const src = resolve(to, base);
      if (!src || images.has(src)) continue;
      const i = new Image();
      i.src = src;
      images.set(src, i);
      wait.push(i.decode());
    }
    await Promise.allSettled(wait);
  }

  // page returns the text of a page with this adapter's scripts before its own. Its scripts and sheets are kept as texts:
  // without requests they come sooner, and V8 does not compile them again.
  async function page(url) {
    const html = await text(url), start = /^\s*<!doctype[^>]*>/i.exec(html)?.[0].length || 0;
    const kept = new Map();
    const run = src => `<script>parent.collabui.run(document, ${JSON.stringify(src)})</script>`;
    for (const [tag, to] of html.matchAll(SCRIPT)) {
      const src = resolve(to, url);
      await text(src);
      kept.set(tag, run(src));
    }
    for (const [tag, to] of html.matchAll(SHEET)) {
      const src = resolve(to, url);
      kept.set(tag, `<style>${absolute(await text(src), src)}</style>`);
      await draw(await text(src), src);
    }
    await draw(html, url);
    const own = resolve('/collabui/page.js', url);
    await text(own);
    return html.slice(0, start) + run(own) + html.slice(start).replace(SCRIPT, t => kept.get(t)).replace(SHEET, t => kept.get(t));
  }

  return {
    // open loads a page into a new frame. It returns the address of a file that the browser could not ask for, if any.
    async open(url) {
      try {
        if (!pages.has(url)) pages.set(url, await page(url));
      } catch (e) {
        if (e.lost) return e.lost;
        throw e;
      }
      history.replaceState(null, '', url); // The frame takes this address.
      if (frame) frame.remove();
      frame = document.createElement('iframe');
      document.body.append(frame);
      const d = frame.contentDocument, loaded = new Promise(done => { frame.onload = done; });
      d.open();
      d.write(pages.get(url));
      d.close();
      await loaded;
      frame.focus();
      return '';
    },
    // run runs a script in a page that is being loaded.
    run(d, src) {
      const s = d.createElement('script');
      s.textContent = texts.get(src);
      d.head.append(s);
      s.remove();
    },
    // at evaluates an expression in the page.
    at: expr => frame.contentWindow.eval(expr),
  };
})();
