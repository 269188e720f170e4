'use strict';

// Live shows what an open run does: its phase, training jobs, what is tried again, workers, and servers.
function Live({ s }) {
  const l = s.live;
  if (!l) return null;
  const around = l.around || {};
  const minutes = (x) => (x > 90 ? (x / 60).toFixed(0) + ' minutes' : x.toFixed(0) + ' seconds');
  const servers = (title, list) => (list || []).length > 0 && html`<${Table} caption=${title} rows=${list} columns=${[
    { name: 'address', of: (x) => x.address }, { name: 'state', of: (x) => x.state },
    { name: 'detail', of: (x) => x.detail || '' }]} />`;

  return html`<section><h2>Now</h2>
    <${Fields} of=${[['phase', l.level ? l.level + ': ' + l.phase : l.phase],
      ['episodes', l.slots > 0 && l.done + ' of ' + l.slots + ', ' + l.successes + ' solved'],
      ['failed slots', l.failed], ['pairs', l.pairs], ['updates', l.updates > 0 && l.updates + ' of ' + l.agents],
      ['optimiser steps', l.steps], ['per minute', l.per_minute && l.per_minute.toFixed(1)],
      ['left, of this phase', l.left_s && minutes(l.left_s)], ['workers', around.workers]]
      .map(([k, v]) => [k, v || ''])} />
    ${(l.training || []).map((j) => html`<p class="note">${j.of}: ${j.now}</p>`)}
    ${(l.tried_again || []).length > 0 && html`<${Table} caption="Tried again" rows=${l.tried_again} columns=${[
      { name: 'activity', of: (x) => x.activity }, { name: 'of', of: (x) => x.of },
      { name: 'number', num: true, of: (x) => x.number }, { name: 'tries', num: true, of: (x) => x.tries },
      { name: 'why', of: (x) => x.why }]} />`}
    ${servers('Environment servers', around.environment_servers)}
    ${servers('Policy servers', around.policy_servers)}</section>`;
}

// Level is the data card of a level of stage 1.
function Level({ card }) {
  const c = card.counts || {};
  const flat = (o) => Object.entries(o || {}).map(([k, n]) => k + ' ' + n).join(', ');

  return html`<section><h2>Stage 1, level ${card.level ?? ''}</h2><${Fields} of=${[['rows', whole(card.rows || 0)],
    ['agent', card.agent], ['author', card.author], ['adversary', card.adversary], ['critic', card.critic],
    ['kinds', flat(c.by_kind)], ['dropped', flat(c.dropped)], ['screens', c.screens], ['proposed', c.proposed],
    ['failed episodes', c.failed_episodes], ['chosen, bytes', card.chosen_length?.toFixed(0)],
    ['rejected, bytes', card.rejected_length?.toFixed(0)], ['style AUC', card.style_auc?.toFixed(2)]]} />
    <details><summary>the whole card</summary><pre class="tree" tabindex="0">${JSON.stringify(card, null, 2)}
      </pre></details></section>`;
}
