'use strict';

// Documents come as scripts, because a page that was opened from a file may load scripts, but not read files. Each
// script calls got, unpack or failed with its path.
const collabui = (() => {
  const known = new Map(); // path: promise of the document
  const open = new Map(); // path: functions that end the promise
  const large = []; // paths of documents with whole episodes, the oldest first
  let times = 0;

  function load(path, again) {
    if (open.has(path)) return open.get(path).promise; // another part of the page asked for it just now
    if (known.has(path) && !again) return known.get(path);
    const waiting = {};
    const promise = waiting.promise = new Promise((resolve, reject) => {
      open.set(path, Object.assign(waiting, { resolve, reject }));
      const s = document.createElement('script');
      s.src = 'data/' + path.split('/').map(encodeURIComponent).join('/') + '.js' + (again ? '?' + ++times : '');
      s.onload = () => s.remove();
      s.onerror = () => {
        s.remove();
        failed(path, 'This is not part of the report, or the viewer does not answer.');
      };
      document.head.append(s);
    });
    if (!again) keep(path, promise);
    promise.then(() => keep(path, promise), () => known.delete(path));

    return promise;
  }

  // keep remembers a document, and of those with whole episodes only the newest four.
  function keep(path, promise) {
    known.set(path, promise);
    if (!/^(episodes|evaluations)\//.test(path)) return;
    if (large.includes(path)) return;
    large.push(path);
    if (large.length > 4) known.delete(large.shift());
  }

  function end(path, how, what) {
    const waiting = open.get(path);
    open.delete(path);
    if (waiting) waiting[how](what);
  }

  const got = (path, body) => end(path, 'resolve', body);
  const failed = (path, why) => end(path, 'reject', new Error(why));

  // unpack takes JSON that was compressed by gzip and written as base64.
  async function unpack(path, text) {
    try {
      const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
      got(path, JSON.parse(await new Response(stream).text()));
    } catch (err) {
      failed(path, String(err));
    }
  }

  return { load, got, failed, unpack };
})();

const { h, render, Fragment } = preact;
const { useState, useEffect, useLayoutEffect, useMemo, useRef, useCallback } = preactHooks;
const html = htm.bind(h);

// useDoc returns a document, or what went wrong. Another version reads it again.
function useDoc(path, version) {
  const [state, set] = useState({});
  useEffect(() => {
    let current = true;
    if (!path) return undefined;
    collabui.load(path, version > 0).then(
      (doc) => current && set({ path, doc }),
      (error) => current && set((s) => (s.path === path && s.doc ? s : { path, error })),
    );

    return () => { current = false; };
  }, [path, version]);

  return state.path === path ? state : {};
}

// useDocs returns several documents, in order, once all are there. Another version reads those again that can change.
function useDocs(paths, version, changes = () => true) {
  const key = paths.join('\n');
  const [state, set] = useState({});
  useEffect(() => {
    let current = true;
    Promise.all(paths.map((p, i) => collabui.load(p, version > 0 && changes(i)))).then(
      (docs) => current && set({ key, docs }),
      (error) => current && set({ key, error }),
    );

    return () => { current = false; };
  }, [key, version]);

  return state.key === key ? state : {};
}
