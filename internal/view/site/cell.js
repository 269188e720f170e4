'use strict';

// Matrix shows what every agent said in every round, by the critic's labels. A step decides the labels; chosen is
// [agent, round].
function Matrix({ d, step, chosen, onChoose }) {
  const at = (agent, round) => step.cells.find((c) => c.agent === agent && c.round === round);
  const asked = (c) => c && (c.prompt !== '' || c.text !== '');
  const agents = Array.from({ length: d.agents }, (_, i) => i);
  const rounds = Array.from({ length: d.rounds }, (_, i) => i);

  return html`<table class="matrix"><caption class="hidden">what every agent said in every round</caption>
    <thead><tr><td></td>${rounds.map((j) => html`<th scope="col">round ${j + 1}</th>`)}</tr></thead>
    <tbody>${agents.map((i) => html`<tr><th scope="row">agent ${i}</th>${rounds.map((j) => {
      const c = at(i, j);
      if (!asked(c)) return html`<td><span class="notasked">not asked</span></td>`;
      const before = j > 0 ? at(i, j - 1) : null;
      const changed = asked(before) && before.canonical !== c.canonical;
      const label = c.label ?? c.judge;
      const here = chosen && chosen[0] === i && chosen[1] === j;
      const won = c.canonical && c.canonical === step.action.canonical;
      const against = c.judge !== undefined && c.label !== undefined && c.label !== c.judge;

      return html`<td><button type="button"
        class=${'cell ' + labelClass(label) + (here ? ' here' : '') + (changed ? ' changed' : '')}
        aria-pressed=${!!here} onClick=${() => onChoose([i, j])}>
        <span class="hidden">agent ${i}, round ${j + 1}: </span>
        <${Label} value=${label} />${won ? html`<${Mark} kind="won" sign="★" name="executed" />` : ''}
        ${changed ? html`<${Mark} kind="delta" sign="Δ" name="differs from the round before" />` : ''}
        ${against ? html`<${Mark} kind="against" sign="≠" name=${'the judge says: ' + labelName(c.judge)} />` : ''}
        <${Said} c=${c} /></button></td>`;
    })}</tr>`)}</tbody></table>`;
}

// Mark is a sign whose meaning is read aloud.
const Mark = ({ kind, sign, name }) => html`${' '}<span class=${kind} role="img" aria-label=${name}
  title=${name}>${sign}</span>${' '}`;

// Said is what an agent said: of an act of speech, the verb stands in a badge.
function Said({ c }) {
  const verb = c.action?.speech;

  return html`<span class="words" dir="auto">${verb && html`<span class="speech">${verb}</span>`}${verb
    ? c.action.words.slice(verb.length) : said(c)}</span>`;
}

const said = (c) => (c.refused ? '(refused)' : c.action ? c.action.words : '(no action)');

// Votes counts the answers that vote, and says how a tie was resolved.
const RULES = {
  majority: 'more votes than any other', 'last-round': 'a tie: the one with more votes in the last round',
  scan: 'a tie: the one that was said first, in the order of the graph, from the last round back',
};

function Votes({ d, step }) {
  const last = d.vote_scope === 'last_round';
  const speech = step.cells.filter((c) => c.action?.speech).length;
  const spoken = step.cells.filter((c) => c.canonical && !c.action?.speech && (!last || c.round === d.rounds - 1));
  const names = [...new Set(spoken.map((c) => c.canonical))];
  if (step.nobody_acted) return html`<p class="note">Nobody acted: all answers are speech, which has no vote, and
    nothing was executed.</p>`;
  if (names.length === 0) return html`<p class="note">No answer ${last ? 'of the last round ' : ''}contains an action:
    nothing was executed.</p>`;
  const rows = names.map((name) => ({
    name, words: spoken.find((c) => c.canonical === name).action?.words || name,
      n: spoken.filter((c) => c.canonical === name).length,
    rounds: Array.from({ length: d.rounds }, (_, j) => spoken.filter((c) => c.canonical === name &&
      c.round === j).length),
  })).sort(by((r) => -r.n));
  const most = rows[0].n;
  const won = step.action.canonical;

  return html`<table class="votes">
    <caption>Votes${last ? ' of the last round' : ''}: ${step.vote.votes} of ${spoken.length}; ${
      RULES[step.vote.rule] || step.vote.rule}${speech ? '; ' + speech + ' of the answers are speech, which has no vote'
      : ''}</caption>
    <tbody>${rows.map((r) => html`<tr class=${r.name === won ? 'won' : ''}><th scope="row" dir="auto">
      ${r.name === won ? '★ ' : ''}${r.words}</th>
      <td><meter min="0" max=${most} value=${r.n} aria-label=${r.n + ' votes'}></meter></td><td class="num">${r.n}
        </td><td class="note">${!last && 'by round ' + r.rounds.join(' · ')}</td></tr>`)}</tbody></table>`;
}

// spent says what calls took, if that is known.
const spent = (u) => (u && u.prompt + u.answer > 0 ? tokens(u) : '');

// CellPage shows everything about one answer: what the agent saw, what it said, how it was graded, what was made of it.
// pair is the number of a pair to mark, and pairLink returns the address of one, where pairs have addresses.
function CellPage({ d, step, chosen, system, pair, pairLink }) {
  const c = step.cells.find((x) => x.agent === chosen[0] && x.round === chosen[1]);
  if (!c) return null;
  const before = step.cells.find((x) => x.agent === chosen[0] && x.round === chosen[1] - 1);
  const pairs = (step.pairs || []).filter((p) => p.agent === c.agent && p.round === c.round);
  const asked = (step.asked || []).filter((p) => p.agent === c.agent && p.round === c.round);
  const seen = (step.seen || [])[c.agent];
  const hidden = seen ? step.screen.elements.filter((e) => e.visible && !e.occluded &&
    !seen.includes(e.i)).length : 0;
  const left = c.left_out || {};
  const cut = [hidden && hidden + ' elements hidden from this agent', left.history &&
    left.history + ' lines of history left out',
    left.older && left.older + ' older lines of history',
    left.texts && left.texts + ' texts cut at their limits',
    left.beyond && left.beyond + ' elements beyond the limit',
    left.elements?.length && left.elements.length + ' elements left out: ' + left.elements.join(', '),
    c.told?.length && 'elements known from peers only: ' + c.told.join(', ')].filter(Boolean).join('; ');

  return html`<section class="answer" aria-label=${'answer of agent ' + c.agent + ' in round ' + (c.round + 1)}>
    <h3>Agent ${c.agent}, round ${c.round + 1}: <span dir="auto">${said(c)}</span></h3>
    <${Fields} of=${[
      ['critic', html`<${Label} value=${c.label} /> ${labelName(c.label)}
        ${c.grade?.given ? ', score ' + c.grade.score.toFixed(2) : ''}`],
      ['mean score of this action, by which it is labelled', step.audit?.means?.[c.canonical]?.toFixed(2)],
      ['judge', c.judge !== undefined && html`<${Label} value=${c.judge} /> ${labelName(c.judge)}`],
      ['log-probability', c.logprob ? c.logprob.toFixed(3) + ' nats (' + percent(Math.exp(c.logprob)) + ')' : ''],
      ['tokens', tokens(c.usage)],
      ['critic, for all labels of the step', spent(step.audit?.cost)],
      ['critic, for all proposed answers of the step', spent(step.audit?.cost_again)],
      ['adversary, about this answer', asked.map((a) => spent(a.cost)).filter(Boolean).join('; ')],
      ['calls', c.calls > 1 ? c.calls : ''], ['not seen', cut]]} />
    ${c.grade?.reason && html`<h4>The critic's reason</h4><pre class="text" dir="auto">${c.grade.reason}</pre>`}
    ${c.again && html`<h4>The critic, asked again</h4><p>When it graded the adversary's answers it saw this one among
      them, unmarked: ${c.again.given ? 'score ' + c.again.score.toFixed(2) : 'no usable score'}${
      c.grade?.given && ', before ' + c.grade.score.toFixed(2)}.
      ${step.audit?.blinded > 0 && html` Of ${step.audit.blinded} actions of this step that it had called right, it
        called ${step.audit.again || 0} right again.`}</p>
      ${c.again.reason && html`<pre class="text" dir="auto">${c.again.reason}</pre>`}`}
    ${step.audit && html`<p
      class="note">Scores of one action differ by at most ${step.audit.spread.toFixed(2)} in this step${
      step.audit.repairs
      ? '; the critic was asked ' + step.audit.repairs + ' times to repair its answer' : ''}
        ${(step.audit.faults || []).map((f) => '; ' + f.kind + ': ' + f.detail).join('')}.</p>`}
    <h4>Answer</h4>
    ${c.thought && html`<pre class="text thought" dir="auto">${c.thought}</pre>`}
    <pre class="text" dir="auto"><${Changed} text=${c.text} before=${before?.text} /></pre>
    ${c.repaired && html`<p class="note">repaired: ${c.repaired.join(', ')}</p>`}
    ${c.parse_error && html`<p class="trouble">${c.parse_error}</p>`}
      ${c.refused && html`<p class="trouble">refused: ${c.refused}</p>`}
    ${pairs.length > 0 && html`<h4>${pairs[0].advantage ? 'Sample' : 'Pairs'} made of it</h4>
      ${pairs.map((p, i) => html`<div class=${'pair' + (pair === i + 1 ? ' here' : '')} key=${i}
        aria-current=${pair === i + 1 ? 'true' : undefined} ref=${pair === i + 1 ? scrolledTo : null}>
      ${pairLink && html`<a class="pair-link" href=${pairLink(i + 1)}>${p.advantage ? 'sample' : 'pair'} ${i + 1}</a>`}
      ${p.advantage ? html`<p>advantage ${nats(p.advantage)}</p>` : html`<p class="note">
        ${p.source}, weight ${p.weight.toFixed(2)}</p>`}
      <div><${Label} value=${p.advantage < 0 ? 0 : 1} /><pre class="text" dir="auto">${p.chosen}</pre></div>
      ${p.rejected && html`<div><${Label} value=${0} /><pre class="text" dir="auto">${p.rejected}</pre></div>`}
        </div>`)}`}
    ${asked.map((a) => html`<${Proposed} call=${a} />`)}
    ${c.image && html`<h4>What the agent saw</h4><img class="seen" src=${'image/' + c.image + '.png'}
      alt=${'the picture of the screen that agent ' + c.agent + ' saw'} />`}
    ${c.prompt && html`<h4>What the agent was asked</h4><pre class="text prompt" dir="auto">
      <${Changed} text=${c.prompt} before=${before?.prompt} /></pre>
      <details><summary>system message</summary><pre class="text">${system ||
        'The prompt of this epoch is neither in the specification nor in this build.'}</pre></details>`}
    ${!c.prompt && c.text !== '' && html`<p class="note">Of evaluated episodes only answers are kept: no prompts, no
      log-probabilities, neither what ${step.divided ? 'prompts left out' : 'an agent did not see'} nor what it thought
      before it answered.</p>`}
  </section>`;
}

// scrolledTo shows a part of the page when it is drawn for the first time.
const scrolledTo = (e) => e && e.scrollIntoView({ block: 'center' });

// FATES are what became of the adversary's answers.
const FATES = {
  paired: 'paired', unparsed: 'no pair: it contains no action',
  equal: 'no pair: an answer that is not labelled wrong says the same',
  ungraded: 'no pair: the critic gave no usable score', 'not wrong': 'no pair: it was not labelled wrong',
  duplicate: 'no pair: there is one with the same action',
  limit: 'no pair: there are as many as the specification allows',
};

// Proposed shows what the adversary proposed instead of an answer, and what became of it.
function Proposed({ call }) {
  if (call.refused) return html`<p class="note">the adversary refused: <span dir="auto">${call.refused}</span></p>`;
  const all = call.proposed || [];

  return html`<details class="proposed"><summary>what the adversary proposed (${all.length}, ${
    all.filter((p) => p.fate === 'paired').length} paired)</summary>${all.map((p) => html`
    <p class="note">${FATES[p.fate]}${p.grade?.given ? '; the critic’s score: ' + p.grade.score.toFixed(2) : ''}
      ${p.grade?.reason && html`: <span dir="auto">${p.grade.reason}</span>`}</p>
    <pre class="text" dir="auto">${p.text || '(empty)'}</pre>`)}</details>`;
}

// PairCounts says what became of all positive cells and candidates of an episode.
function PairCounts({ counts: n }) {
  if (!n) return null;
  const flat = Object.entries(n.Pairs || {}).map(([source, k]) => source + ' ' + k).join(', ');

  return html`<details class="counts"><summary>pairs of the episode: ${flat || 'none'}</summary><${Fields} of=${[
    ['labels', n.Positive + ' right, ' + n.Negative + ' wrong, ' + n.Uncertain + ' uncertain'],
    ['right answers without a pair', n.NoPair || ''], ['the adversary refused', n.Refused || ''],
    ['proposed, without an action', n.Unparsed || ''], ['proposed, equal to an answer', n.Equal || ''],
    ['proposed, not labelled wrong', n.NotNegative || ''], ['pairs over the limit', n.OverLimit || ''],
    ['steps with equal labels only', n.NoSpread || '']]} /></details>`;
}

// Changed marks the lines that another text does not have.
function Changed({ text, before }) {
  if (!before || before === text) return text;
  const had = new Set(before.split('\n'));

  return text.split('\n').map((l, i, all) => html`${had.has(l) ? l : html`<mark>${l}</mark>`}
    ${i < all.length - 1 ? '\n' : ''}`);
}
