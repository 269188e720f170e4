'use strict';

const EPISODE = [['j, k', 'next and previous episode'], ['← →', 'previous and next step']];
const ANSWERS = [['↑ ↓, 0 to 9', 'agents'], ['[ ]', 'rounds'], ['b', 'screen before and after'],
  ['Esc', 'close the answer']];

// keysOf returns the keys of a page and what they do there.
function keysOf(parts, query) {
  const [kind, , , n] = parts;
  const alone = kind === 'episode' || (kind === 'evaluation' && n);

  return [...(alone || (kind === 'compare' && query.n) ? EPISODE : []), ...(alone ? ANSWERS : []),
    ...(kind === 'compare' ? [['/', 'choice of systems']] : listOf(parts) ? [['/', 'search for episodes']] : []),
    ['t', 'light or dark'], ['?', 'this help']];
}

// listOf returns the address of the list of episodes that a page belongs to.
const listOf = ([kind, name, id]) => ({ run: ['run', name, 'episodes'], episode: ['run', name, 'episodes'],
  evaluation: ['evaluation', name, id] })[kind];

// search goes to the fields that narrow what is shown, or to the list that has them.
function search(parts, query) {
  const field = document.querySelector('.filters input, .filters select');
  if (field) {
    field.focus();

    return;
  }
  const list = listOf(parts);
  if (!list) return;
  wanted.search = true;
  go(list, parts[0] === 'run' ? {} : query);
}

function App() {
  const [now, setNow] = useState(route());
  const [version, setVersion] = useState(0);
  const [help, setHelp] = useState(false);
  const { doc: index, error } = useDoc('index', version);
  useEffect(() => {
    const change = () => setNow(route());
    addEventListener('hashchange', change);
    change(); // the address may have changed before

    return () => removeEventListener('hashchange', change);
  }, []);
  const run = ['run', 'episode'].includes(now.parts[0]) ? now.parts[1] : '';
  useLive(index, run, () => setVersion((v) => v + 1));
  const only = index && now.parts.length === 0 && index.runs.length === 1 &&
    index.experiments.length + index.lines.length === 0;
  const parts = only ? ['run', index.runs[0].name] : now.parts;
  useKeys({ '?': () => setHelp(!help), '/': () => search(parts, now.query), t: turn,
    ...(help ? { Escape: () => setHelp(false) } : {}) });
  useEffect(() => { document.title = [...now.parts, 'collabui'].join(' · '); });
  if (error || !index) return html`<${Alone} name="collabui" error=${error} />`;

  const pages = { run: RunPage, episode: EpisodePage, evaluation: EvaluationPage, compare: ComparePage,
    experiment: ExperimentPage, line: LinePage, glossary: GlossaryPage, trajectory: TrajectoryPage };
  const Page = parts.length ? pages[parts[0]] : index.foreign ? TrajectoriesPage : Home;

  return html`<a class="skip" href="#main"
    onClick=${(e) => { e.preventDefault(); document.getElementById('main')?.scrollIntoView(); }}>to the content</a>
    <header class="top"><a class="home" href="#/">collabui</a>${!index.foreign && html`<a href=${href(['compare'])}>compare</a>`}
      <a href=${href(['glossary'])}>glossary</a>
      ${index.temporal && html`<a href=${index.temporal} referrerpolicy="origin">Temporal UI</a>`}
      <span class="made">${index.foreign ? 'files' : index.live ? 'live' : 'report of ' + index.made}</span>
      <button type="button" onClick=${turn} title="key t">light or dark</button>
        <button type="button" onClick=${() => setHelp(!help)} aria-expanded=${help}>keys</button></header>
    ${help && html`<section class="help" aria-label="keys"><dl>${keysOf(parts, now.query).map(([k, v]) => html`
      <div><dt><kbd>${k}</kbd></dt><dd>${v}</dd></div>`)}</dl></section>`}
    ${Page ? html`<${Page} index=${index} parts=${parts} run=${parts[1]} tab=${parts[2]} query=${now.query}
      version=${version} />` : html`<main id="main"><p>There is no such page.</p></main>`}`;
}

// useLive calls f when something happened in a run, while pages are live.
function useLive(index, run, f) {
  const live = index && index.live;
  useEffect(() => {
    if (!live) return undefined;
    let source, again;
    const listen = () => {
      source = new EventSource('events?run=' + encodeURIComponent(run || ''));
      source.onmessage = f;
      source.onerror = () => { // a browser does not try again after an answer that is an error, as of a proxy
        if (source.readyState === EventSource.CLOSED) again = setTimeout(() => { f(); listen(); }, 5000);
      };
    };
    listen();

    return () => {
      clearTimeout(again);
      source.close();
    };
  }, [live, run]);
}

// turn changes between light and dark, and remembers it where the browser allows.
function turn() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  try { localStorage.setItem('theme', document.documentElement.dataset.theme); } catch { /* a file may not store */ }
}

try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch { /* a file may not store */ }

// Paper is white.
let shown;
addEventListener('beforeprint', () => {
  shown = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = 'light';
});
addEventListener('afterprint', () => {
  if (shown) document.documentElement.dataset.theme = shown;
  else delete document.documentElement.dataset.theme;
});

const app = document.getElementById('app');
app.textContent = '';
render(html`<${App} />`, app);
