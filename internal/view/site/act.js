'use strict';

// Act is a form for what a person can do on a page: its fields, each {key, name, value, options}, are sent to the
// viewer with what is given. Reports have none.
function Act({ index, title, verb, given, fields }) {
  const [state, set] = useState({});
  if (!index.acts) return null;
  const send = async (e) => {
    e.preventDefault();
    const typed = Object.fromEntries(new FormData(e.target));
    if ('label' in typed) typed.label = Number(typed.label);
    set({ busy: true });
    try {
      const answer = await fetch('act', { method: 'POST', headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ verb, ...given, ...typed }) });
      const text = await answer.text();
      set(answer.ok ? { done: text } : { error: new Error(text) });
    } catch (error) {
      set({ error });
    }
  };

  return html`<details class="act"><summary>${title}</summary><form onSubmit=${send}>
    ${fields.map((f) => html`<label>${f.name} ${f.options ? html`<select name=${f.key}>${f.options.map(([v, n]) => html`
      <option value=${v}>${n}</option>`)}</select>`
      : html`<input name=${f.key} defaultValue=${f.value || ''} required=${f.required} maxlength="2000" />`}</label>`)}
    <button disabled=${state.busy}>${title}</button></form>
    ${state.done && html`<p role="status">${state.done}</p>`}${state.error && html`<${Trouble} error=${state.error} />`}
  </details>`;
}

const WHY = { key: 'why', name: 'why' };

// ActsOnEpisode are what can be done on the page of an episode, and the notes that were left on it.
function ActsOnEpisode({ index, doc, d, epoch }) {
  const page = href(['episode', doc.name, String(epoch), String(d.slot)]);
  const notes = (doc.status.changes || []).filter((c) => c.verb === 'note' && c.link &&
    (c.link + '/').replace(/[?].*/, '/').startsWith(page + '/'));
  const given = { run: doc.name };

  return html`<aside class="acts" aria-label="notes">${notes.map((c) => html`<p class="comment" dir="auto">
      <a href=${safe(c.link)}>${c.who}, ${(c.at || '').slice(0, 16).replace('T', ' ')}</a>: ${c.why}</p>`)}
    <${Act} index=${index} title="Leave a note" verb="note" given=${{ ...given, link: location.hash.slice(0, 400) }}
      fields=${[{ key: 'why', name: 'note', required: true }]} />
    <${Act} index=${index} title=${'Quarantine ' + d.template} verb="quarantine"
      given=${{ ...given, template: d.template }} fields=${[WHY]} /></aside>`;
}

// ActsOnCell are what can be done about an answer.
function ActsOnCell({ index, doc, epoch, d, number, cell }) {
  if (cell.label === undefined || cell.label === null) return null;
  const labels = [[1, 'right'], [0, 'wrong'], [-1, 'uncertain']].filter(([l]) => l !== cell.label);

  return html`<${Act} index=${index} title="Label it differently in a fork" verb="override"
    given=${{ run: doc.name, epoch: Number(epoch), slot: d.slot, step: number, agent: cell.agent, round: cell.round }}
    fields=${[{ key: 'label', name: 'label', options: labels },
    { key: 'name', name: 'name of the fork', value: (doc.name + '-mended').slice(-40), required: true }, WHY]} />`;
}

// safe returns a link of a note if it leads to a page of this site.
const safe = (link) => (String(link).startsWith('#/') ? link : '#/');
