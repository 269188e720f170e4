'use strict';

// Messages shows what every message of a step changed: the answers of its readers with it, as recorded, and without it.
function Messages({ step, onChoose }) {
  if (!step.messages?.length) return null;

  return html`<section class="messages" aria-label="what messages changed"><h3>Why messages mattered</h3>
    ${step.messages.map((m) => html`<article class="message">
      <h4><button type="button" onClick=${() => onChoose([m.agent, m.round])}>agent ${m.agent}, round ${m.round + 1}
        </button> <${Said} c=${{ action: { speech: m.verb, words: m.words } }} /></h4>
      <p class="effect"><${Label} value=${m.label} /> ${m.summary}</p>
      <details><summary>the whole message</summary><pre class="text" dir="auto">${m.text}</pre></details>
      <${Readers} readers=${m.readers} with="with it, as recorded" without="without it" />
      ${(m.instead || []).map((a) => html`<div class="instead"><p><${Label} value=${a.label} /> Instead: <span
        dir="auto">${a.words}</span> (${HELP[a.label]})</p>
        <details><summary>the whole answer</summary><pre class="text" dir="auto">${a.text}</pre></details>
        <${Readers} readers=${a.readers} with="with the pass, as recorded"
          without="with this answer instead" /></div>`)}
      </article>`)}</section>`;
}

// HELP says of an answer instead of a pass whether it would have helped, by its label.
const HELP = { 1: 'it would have helped', 0: 'it would not have helped',
  '-1': 'it is uncertain whether it would help' };

function Readers({ readers, with: one, without: other }) {
  if (!readers?.length) return null;
  const answer = (a) => html`<td><${Label} value=${a.label} /> ${a.verdict}<details><summary dir="auto">
    ${a.words}</summary><pre class="text" dir="auto">${a.text}</pre></details></td>`;

  return html`<table class="readers"><thead><tr><th scope="col">reader</th><th scope="col">${one}</th>
    <th scope="col">${other}</th></tr></thead><tbody>${readers.map((r) => html`<tr><th scope="row">agent ${r.agent},
      round ${r.round + 1}</th>${answer(r.with)}${answer(r.without)}</tr>`)}</tbody></table>`;
}

const LISTED = 500; // messages

// MessagesPage lists the messages of a run, those with the largest effects first.
function MessagesPage({ doc, version }) {
  const { rows, error } = useRows(doc, version);
  if (error) return html`<${Trouble} error=${error} />`;
  if (!rows) return html`<${Wait} />`;
  const all = rows.flatMap((r) => (r.messages || []).map((m) => ({ ...m, epoch: r.epoch, slot: r.slot, goal: r.goal })))
    .sort(by((m) => -m.size));
  if (all.length === 0) return html`<p>No message was labelled by its effect yet.</p>`;
  const place = (m) => m.epoch + '/' + m.slot + ', step ' + m.step;
  const columns = [
    { name: 'step', of: (m) => (doc.short ? place(m) : html`<a
      href=${href(['episode', doc.name, m.epoch, m.slot, m.step, m.agent + '.' + m.round])}>${place(m)}</a>`), csv: place },
    { name: 'agent', num: true, of: (m) => m.agent }, { name: 'round', num: true, of: (m) => m.round + 1 },
    { name: 'message', of: (m) => html`<span dir="auto">${m.words}</span>`, csv: (m) => m.words },
    { name: 'label', of: (m) => html`<${Label} value=${m.label} /> ${labelName(m.label)}`,
      csv: (m) => labelName(m.label) },
    { name: 'effect', of: (m) => m.summary },
    { name: 'goal', of: (m) => html`<span dir="auto">${m.goal}</span>`, csv: (m) => m.goal },
  ];

  return html`<h2>Messages that mattered</h2>
    <p class="note">Readers answered again, with the same seeds, without a message. Its effect is how many more or fewer
      of them are right with it. Of an episode, the 20 messages with the largest effects are listed.</p>
    <${Table} caption=${whole(Math.min(all.length, LISTED)) + ' of ' + whole(all.length) + ' messages'}
      file=${doc.name + '-messages'} columns=${columns} rows=${all.slice(0, LISTED)} />`;
}
