'use strict';

// useEpisode returns the details of an episode of a run.
function useEpisode(doc, epoch, slot, version) {
  const first = doc ? Math.floor((slot - 1) / doc.chunk) * doc.chunk + 1 : 1;
  const { doc: all, error } = useDoc(doc && slot ? ['episodes', doc.name, epoch, first].join('/') : '', version);

  return { d: all && all[slot], error: error || (all && !all[slot] &&
    new Error('There is no episode of this slot yet.')) };
}

function EpisodePage({ index, parts, query, version }) {
  const [, run, epoch, slot, number, place, pair] = parts;
  const { doc, error: missing } = useDoc('run/' + run, version);
  const { d, error } = useEpisode(doc, Number(epoch), Number(slot), version);
  const { rows } = useRows(doc, version);
  const { answers } = useAnswers(doc || { epochs: [] }, doc && query.answers);
  const list = useMemo(() => (rows ? selected([...rows], query, answers) : []),
    [rows, answers, JSON.stringify(query)]);
  const here = list.findIndex((r) => r.epoch === Number(epoch) && r.slot === Number(slot));
  const open = (e, s, n, c) => go(['episode', run, e, s, ...(n ? [n] : []), ...(c ? [c.join('.')] : [])], query,
    e === epoch && s === slot);
  const neighbour = (by) => { // of where the page goes to, even if it has not been drawn yet
    const [, , e, s] = route().parts;
    const now = list.findIndex((r) => String(r.epoch) === e && String(r.slot) === s);
    const r = list[now + by];
    if (r && now >= 0) open(String(r.epoch), String(r.slot));
  };
  if (doc?.short) return html`<main id="main"><h1>${run}</h1><${Short} /></main>`;
  if (!d || missing || error) return html`<${Alone} name=${run} error=${missing || error} />`;

  return html`<main id="main" class="wide">
    <nav class="crumbs" aria-label="where this is"><a href=${href(['run', run])}>${run}</a> ›
      <a href=${href(['run', run, 'episodes'], query)}>episodes</a> › epoch ${epoch}, slot ${slot}
      ${here >= 0 && html`<span class="note"> ${here + 1} of ${list.length}</span>
        <button type="button" disabled=${here === 0} onClick=${() => neighbour(-1)} title="key k">‹ before</button>
        <button type="button" disabled=${here === list.length - 1} onClick=${() => neighbour(1)}
          title="key j">next ›</button>`}</nav>
    <${Notes} doc=${doc} d=${d} epoch=${epoch} />
    <${Episode} index=${index} doc=${doc} epoch=${epoch} d=${d} number=${Number(number) || 1}
      system=${doc.epochs.find((e) => e.number === Number(epoch))?.system ?? doc.system} chosen=${cellOf(place)}
      pair=${Number(pair) || 0} pairLink=${(n, c, i) => href(['episode', run, epoch, slot, n, c.join('.'), i], query)}
      onOpen=${(n, c) => drawn(parts) && open(epoch, slot, n, c)} onNeighbour=${neighbour} />
  </main>`;
}

// Notes are the notes that people left about an episode.
function Notes({ doc, d, epoch }) {
  const page = href(['episode', doc.name, String(epoch), String(d.slot)]);
  const notes = (doc.status.changes || []).filter((c) => c.verb === 'note' && c.link &&
    (c.link + '/').replace(/[?].*/, '/').startsWith(page + '/'));

  return notes.length > 0 && html`<aside class="notes" aria-label="notes">${notes.map((c) => html`
    <p class="comment" dir="auto"><a href=${safe(c.link)}>${c.who}, ${day(c.at)}</a>:
      ${' '}${c.why}</p>`)}</aside>`;
}

// safe returns a link of a note if it leads to a page of this site.
const safe = (link) => (String(link).startsWith('#/') ? link : '#/');

// drawn reports whether a page shows the episode of the address: a key may come before that.
const drawn = (parts) => route().parts.slice(0, 4).join('/') === parts.slice(0, 4).join('/');

// cellOf parses AGENT.ROUND, both from 0.
const cellOf = (place) => (/^\d+\.\d+$/.test(place || '') ? place.split('.').map(Number) : null);

// Episode shows an episode in three panes: the screen, the steps, and the decision. Number is the step, from 1.
function Episode({ index, doc, epoch, d, system, number, chosen, pair, pairLink, onOpen, onNeighbour }) {
  const [after, setAfter] = useState(false);
  const n = Math.min(Math.max(1, number), Math.max(1, d.steps.length));
  const step = d.steps[n - 1];
  const next = d.steps[n] || d.end;
  const saved = [epoch, d.slot, n].filter(Boolean).join('-');
  const now = after ? next : step;
  const shot = now?.screen && !(now.image && location.protocol === 'file:'); // files may not read screenshots
  useKeys({
    ArrowRight: () => n < d.steps.length && onOpen(n + 1, chosen), ArrowLeft: () => n > 1 && onOpen(n - 1, chosen),
    ArrowDown: () => move(d, chosen, [1, 0], (c) => onOpen(n, c)), ArrowUp: () => move(d, chosen, [-1, 0],
      (c) => onOpen(n, c)),
    ']': () => move(d, chosen, [0, 1], (c) => onOpen(n, c)), '[': () => move(d, chosen, [0, -1], (c) => onOpen(n, c)),
    Escape: () => onOpen(n, null), b: () => setAfter(!after), j: () => onNeighbour && onNeighbour(1),
      k: () => onNeighbour && onNeighbour(-1),
    ...Object.fromEntries(Array.from({ length: Math.min(10, d.agents) }, (_, i) => [String(i), () => onOpen(n, [i,
      chosen ? chosen[1] : d.rounds - 1])])),
  });

  return html`
    <header class="goal"><h1 dir="auto">${d.goal || d.template}</h1>
      <p><${State}
        value=${d.state} /> · ${d.template} · ${d.split} · attempt ${d.attempt ||
          1} · ${d.steps.length} of at most ${d.max_steps} steps
        ${index?.temporal && d.workflow && html` · <a
          href=${'temporal/' + encodeURIComponent(d.workflow)}
          referrerpolicy="origin">in the Temporal UI</a>`}
        ${d.critic && ' · labels by ' + d.critic + lasted(d.took?.labels)}${d.counts && d.took?.pairs > 0 &&
          ' · pairs' + lasted(d.took.pairs)}${d.outcome.truncated ? ' · out of steps' : ''}</p>
      ${d.failed && html`<p class="trouble">${d.failed}</p>`}${(d.void || []).map((v, i) => html`<p
        class="note">attempt ${i + 1} does not count: ${v}</p>`)}
      <${PairCounts} counts=${d.counts} /></header>
    ${!step && html`<p class="note">No step was recorded.</p>`}
    ${step && html`<div class="panes">
      <section class="pane look" aria-label="screen"><h2>Screen <span class="switch">
        <button type="button" aria-pressed=${!after} onClick=${() => setAfter(false)}>before</button>
        <button type="button" aria-pressed=${after} onClick=${() => setAfter(true)} title="key b">after</button>
          </span>${shot && html` <${Save} name=${saved + '-screen'} svg=${drawnIn('.look')} />`}</h2>
        ${after ? (next ? html`<${Screen} screen=${next.screen} image=${next.image} name="after" />` : html`<p
          class="note">The screen after the last step is not recorded.</p>`)
          : html`<${Screen} screen=${step.screen} image=${step.image} action=${step.action.type ? step.action : null}
            seen=${chosen && step.seen ? step.seen[chosen[0]] : null}
            told=${chosen && step.divided ? toldTo(step, chosen) : null} name="before" />
            <${SeenBy} step=${step} chosen=${chosen} />`}
        ${step.history?.length > 0 && html`<details><summary>history (${step.history.length})</summary>
          <ol class="history">${step.history.map((x) => html`<li dir="auto">${x}</li>`)}</ol></details>`}</section>
      <section class="pane steps" aria-label="steps"><h2>Steps</h2><ol class="strip">${d.steps.map((s, i) => html`
        <li><button type="button" aria-current=${i + 1 === n ? 'step' : undefined}
          onClick=${() => onOpen(i + 1, chosen)}>
          <${Screen} small screen=${s.screen} image=${s.image} action=${s.action.type ? s.action : null}
            name=${'step ' + (i + 1)} />
          <span>${i + 1}. <${StepMark} step=${s} /> <span dir="auto">${s.action.words || 'nothing'}</span>
            ${tie(s) ? html` <em title="tie">tie</em>` : ''}</span></button></li>`)}</ol></section>
      <section class="pane decide" aria-label="decision"><h2>Decision in step ${n}: <span dir="auto">
        ${step.action.words || 'nothing'}</span>${lasted(d.took?.steps?.[n - 1])}</h2>
        <div class="talk">${d.agents > 1 && html`<div><${Graph} agents=${d.agents} edges=${d.edges || []}
          chosen=${chosen ? chosen[0] : -1}
          marks=${Array.from({ length: d.agents }, (_,
            i) => {
            const c = step.cells.filter((x) => x.agent === i).at(-1);

            return c ? c.label ?? c.judge : null;
          })}
          onChoose=${(i) => onOpen(n, [i, chosen ? chosen[1] : d.rounds - 1])} />
          <${Save} name=${saved + '-graph'} svg=${drawnIn('.talk')} />
          ${d.reads_back && d.edges.length > 0 && html`<p class="note">From round 2 on, agents also read against the
            arrows.</p>`}</div>`}
          <${Votes} d=${d} step=${step} /></div>
        <${Matrix} d=${d} step=${step} chosen=${chosen} onChoose=${(c) => onOpen(n, c)} />
        <${Signs} />
        <${Messages} step=${step} onChoose=${(c) => onOpen(n, c)} />
        ${step.right?.length > 0 && html`<p
          class="note">Right, says the judge (privileged): ${step.right.map((r) => r.words).join('; ')}</p>`}
        ${chosen ? html`<${CellPage} d=${d} step=${step} chosen=${chosen} system=${system} pair=${pair}
          pairLink=${pairLink && ((i) => pairLink(n, chosen, i))} />`
          : html`<p class="note">Choose an answer to see what the agent saw and what was made of it.</p>
            <${StepPairs} step=${step} link=${pairLink && ((p, i) => pairLink(n, [p.agent, p.round], i))} />`}
      </section></div>`}`;
}

// StepPairs is a table of the pairs that came of a step, each with its place among those of its answer.
function StepPairs({ step, link }) {
  const all = step.pairs || [];
  if (all.length === 0) return html`<p class="note">No pair came of this step.</p>`;
  const place = (p) => 1 + all.slice(0, all.indexOf(p)).filter((o) => o.agent === p.agent && o.round === p.round).length;
  const first = (text) => html`<span dir="auto">${fitting(String(text || '').trim().split('\n').at(-1), 240)}</span>`;
  const name = (p) => 'agent ' + p.agent + ', round ' + (p.round + 1);

  return html`<${Table} caption=${all.length + (all.length === 1 ? ' pair' : ' pairs') + ' of this step'} ask="pairs"
    rows=${all} columns=${[
    { name: 'answer', csv: name, of: (p) => (link ? html`<a href=${link(p, place(p))}>${name(p)}</a>` : name(p)) },
    { name: 'source', ask: 'source', of: (p) => p.source || '' },
    { name: 'better', of: (p) => first(p.chosen), csv: (p) => p.chosen },
    { name: 'worse', of: (p) => first(p.rejected), csv: (p) => p.rejected },
    { name: 'weight', num: true, of: (p) => (p.advantage ? nats(p.advantage) : p.weight.toFixed(2)) }]} />`;
}

// Signs explains the signs of answers.
const Signs = () => html`<p class="note signs">${[['+', 'right'], ['−', 'wrong'], ['?', 'uncertain']].map(([, name]) => html`
  <${Label} value=${{ right: 1, wrong: 0, uncertain: -1 }[name]} /> ${name} · `)}★ executed · Δ changed since the round
  before · ≠ the judge differs · a message is right if more of its readers act right with it<${Ask} of="cells" /></p>`;

// lasted says how long something took, as far as the store's times tell.
const lasted = (seconds) => (seconds > 0 ? ' (' + seconds.toFixed(seconds < 10 ? 2 : 0) + ' s)' : '');

const tie = (s) => s.vote.canonical && s.vote.rule !== 'majority';

// StepMark is the label of what was executed.
function StepMark({ step }) {
  const c = step.cells.find((x) => x.canonical && x.canonical === step.action.canonical);

  return html`<${Label} value=${c ? c.label ?? c.judge : null} />`;
}

// move goes to a neighbouring cell.
function move(d, chosen, [i, j], open) {
  const [a, r] = chosen || [i > 0 ? -1 : 0, d.rounds - 1];
  open([Math.min(d.agents - 1, Math.max(0, a + i)), Math.min(d.rounds - 1, Math.max(0, r + j))]);
}

// useKeys calls functions by key, unless a person types into a field.
function useKeys(keys) {
  const now = useRef(keys);
  now.current = keys;
  useLayoutEffect(() => { // before anybody sees the page: no key is lost
    const press = (e) => {
      const field = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
      if (field && e.key === 'Escape') e.target.blur();
      if (field || e.ctrlKey || e.metaKey || e.altKey || !now.current[e.key]) return;
      e.preventDefault();
      now.current[e.key]();
    };
    addEventListener('keydown', press);

    return () => removeEventListener('keydown', press);
  }, []);
}
