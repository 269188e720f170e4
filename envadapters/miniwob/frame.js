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
      const r = await fetch(url);
      if (!r.ok) throw new Error(`${url}: ${r.status} ${r.statusText}`);
      texts.set(url, await r.text());
    }
    return texts.get(url);
  }
  const absolute = (css, base) => css.replace(URLS, (url, to) => URL.canParse(to, base) ? `url("${new URL(to, base)}")` : url);

  // draw waits for the images of style sheets, and keeps them, so that they are there as soon as a page uses them.
  async function draw(css, base) {
    const wait = [];
    for (const [, to] of css.matchAll(URLS)) {
      const src = URL.canParse(to, base) ? new URL(to, base).href : '';
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
      const src = new URL(to, url).href;
      await text(src);
      kept.set(tag, run(src));
    }
    for (const [tag, to] of html.matchAll(SHEET)) {
      const src = new URL(to, url).href;
      kept.set(tag, `<style>${absolute(await text(src), src)}</style>`);
      await draw(await text(src), src);
    }
    await draw(html, url);
    const own = new URL('/collabui/page.js', url).href;
    await text(own);
    return html.slice(0, start) + run(own) + html.slice(start).replace(SCRIPT, t => kept.get(t)).replace(SHEET, t => kept.get(t));
  }

  return {
    // open loads a page into a new frame.
    async open(url) {
      if (!pages.has(url)) pages.set(url, await page(url));
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
