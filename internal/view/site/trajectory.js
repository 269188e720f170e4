'use strict';

// The pages of trajectories that other programs wrote.

function TrajectoriesPage({ index, query }) {
  const { doc: rows, error } = useDoc('trajectories', 0);
  const set = (q) => go([], { ...query, ...q }, true);
  if (error || !rows) return html`<${Alone} name=${index.title} error=${error} />`;
  const text = (query.text || '').toLowerCase();
  const found = rows.filter((r) => !text || [r.file, r.id, r.task, r.agent, r.model, ...(r.scores || []), r.error,
    ...r.said].join(' ').toLowerCase().includes(text));
  const columns = [
    { key: 'n', name: 'no.', width: '56px', narrow: '46px', num: true, by: (r) => r.n, of: (r) => r.n },
    { key: 'task', name: 'task', width: 'minmax(160px, 3fr)', narrow: 'minmax(120px, 1fr)', by: (r) => r.task,
      of: (r) => r.task, title: (r) => r.task },
    { key: 'score', name: 'score', width: 'minmax(110px, 1fr)', narrow: '110px', by: (r) => (r.scores || []).join(),
      of: (r) => (r.error ? 'error' : (r.scores || []).join(', ')), title: (r) => r.error },
    { key: 'agent', name: 'agent', width: 'minmax(80px, 1fr)', by: (r) => r.agent || r.model,
      of: (r) => [r.agent, r.model].filter(Boolean).join(', ') },
    { key: 'turns', name: 'turns', width: '74px', num: true, by: (r) => r.turns, of: (r) => r.turns },
    { key: 'tokens', name: 'tokens', width: '90px', num: true, by: (r) => r.tokens,
      of: (r) => (r.tokens ? whole(r.tokens) : '–') },
    { key: 'format', name: 'format', width: '80px', by: (r) => r.format, of: (r) => r.format },
    { key: 'file', name: 'file', width: 'minmax(100px, 2fr)', by: (r) => r.file, title: (r) => r.file,
      of: (r) => r.file + (r.id ? ' · ' + r.id : '') }];
  const [key, back] = orderOf(query.sort || 'n');
  const list = sorted(found, (columns.find((c) => c.key === key) || columns[0]).by, back);

  return html`<main id="main" class="wide"><h1>${index.title}</h1>
    <form class="filters" role="search" onSubmit=${(e) => e.preventDefault()}>
      <${Search} value=${query.text} placeholder="tasks and answers" onText=${(t) => set({ text: t })} /></form>
    <p role="status">${whole(list.length)} of ${whole(rows.length)} trajectories</p>
    <${Lines} rows=${list} label="trajectories" fit columns=${columns} to=${(r) => href(['trajectory', r.n])}
      sort=${query.sort || 'n'} onSort=${(sort) => set({ sort })} /></main>`;
}

function TrajectoryPage({ index, parts }) {
  const { doc, error } = useDoc('trajectory/' + parts[1], 0);
  if (error || !doc) return html`<${Alone} name="Trajectory" error=${error} />`;

  return html`<main id="main"><nav class="crumbs" aria-label="where this is"><a href="#/">${index.title}</a> ›${' '}
    ${doc.file}${doc.id ? ' · ' + doc.id : ''}</nav>
    <h1 dir="auto">${doc.task.slice(0, 300)}</h1>
    <${Fields} of=${[['score', (doc.scores || []).join(', ')], ['agent', doc.agent], ['model', doc.model],
      ['tokens', doc.tokens && whole(doc.tokens)], ['format', doc.format]]} />
    ${doc.error && html`<p class="trouble">${doc.error}</p>`}
    <${Turns} turns=${doc.turns || []} /></main>`;
}

// Turns shows messages, calls of tools and what came back.
function Turns({ turns }) {
  return html`<ol class="turns">${turns.map((t) => html`<li><h2>${t.role}</h2>
    ${t.reasoning && html`<pre class="text thought" dir="auto">${t.reasoning}</pre>`}
    ${t.text && html`<pre class="text" dir="auto">${t.text}</pre>`}
    ${(t.calls || []).map((c) => html`<p class="call"><strong>${c.name}</strong> <code dir="auto">${c.arguments}</code></p>`)}
    ${(t.results || []).map((r) => html`<pre class="text result" dir="auto">${r}</pre>`)}
    ${(t.images || []).map((src) => html`<img class="turn" src=${src} alt="what the agent saw" />`)}
    ${(t.inner || []).map((x) => html`<details><summary>${x.name} (${x.turns.length})</summary>
      <${Turns} turns=${x.turns} /></details>`)}
    ${t.facts?.length > 0 && html`<p class="note">${t.facts.map((f) => f.name + ' ' + f.value).join(', ')}</p>`}
    </li>`)}</ol>`;
}
