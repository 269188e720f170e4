'use strict';

// TERMS explains, in a sentence each, the words that pages use. "?" next to a chart, a column or a badge shows one.
const TERMS = {
  run: 'A run trains one group of agents, from its specification to the end of its last epoch.',
  state: 'What a run does now. "absent" means that only the store knows the run: no Temporal has a workflow of it.',
  epoch: 'A round of stage 2: agents play training tasks, answers are labelled, and every agent is updated.',
  'stage 1': 'Training one base policy by imitation, the start of all agents. Stage 2 then trains the agents together.',
  chunk: 'A piece of stage 1’s training that ends with a checkpoint and an evaluation.',
  stop_low: 'Stage 1 ends when success on val lies in a band; stop_low is its lower end.',
  agents: 'The number of agents that decide together. Each has its own policy unless parameters are shared.',
  system: 'The policies of one version with who reads whom and how answers are sampled. base-4 is four agents with the ' +
    'policy of stage 1, trained-4 the same after stage 2; "base-1 at 0" is one agent at temperature 0.',
  val: 'The tasks on which the best epoch is chosen. Its rate is therefore a little too good; the tests chose nothing.',
  test: 'Success on tasks that training never saw and that chose nothing.',
  'test-seeds': 'Templates of training with other seeds: other names, numbers and orders.',
  'test-templates': 'Kinds of tasks that training never saw.',
  'test-apps': 'Applications that training never saw.',
  rollouts: 'The training tasks of an epoch, played by the policies before its update. They are other tasks than val.',
  'Wilson interval': 'The range that contains the true rate with 95 % confidence, given the number of episodes.',
  slot: 'One planned episode of an epoch. It is played again if an attempt is void.',
  void: 'An attempt that does not count because the environment failed, not the agents.',
  failed: 'A slot without an episode: every attempt at it was void.',
  template: 'A kind of task, from which seeds make many.',
  cells: 'One answer of one agent in one round of a step. All cells of a step are its action matrix.',
  round: 'One pass of all agents within a step. In later rounds agents read the answers of others.',
  vote: 'The action that most answers name is executed. Rules resolve every tie.',
  tie: 'No action had more votes than any other: the last round, and then the order of the graph decided.',
  '+': 'The label of an answer: + right, − wrong, ? uncertain, · not graded.',
  '★': 'The answer that was executed.',
  Δ: 'The answer differs from the same agent’s in the round before.',
  '≠': 'The critic’s label differs from the judge’s.',
  critic: 'What labels answers: a model, the outcome, or an oracle that knows the right actions.',
  judge: 'An environment that knows the right actions. Its labels are privileged: agents could not have them in use.',
  adversary: 'A model, or the agents themselves, that proposes plausible wrong answers for pairs.',
  pairs: 'Training examples: a prompt with a better and a worse answer, or with a right answer only.',
  source: 'Where the worse answer of a pair comes from: own (the same agent said it), peer (another agent), correction ' +
    '(an agent was corrected), adversary (proposed), instead (another message was tried), resist (a peer misled), ' +
    'none (a right answer without a worse one).',
  'changed by reading': 'An agent that reads others gave another answer in a later round.',
  invalid: 'A step at which nothing was executed, or an answer without an action.',
  refused: 'A prompt that the model did not take, for example because it is too long.',
  message: 'The answer of one agent in the prompt of another.',
  effect: 'How many more readers are right with a message than without it.',
  gate: 'A rule that may keep the parent policy instead of the updated one.',
  taken: 'The updated policy passed the gate, and plays the next epoch.',
  parent: 'The policy before the update.',
  probe: 'Sampled answers of an updated policy on some prompts, which the gate checks.',
  'not measured': 'The agent was not updated or not probed in this epoch, so there is no figure. It is a gap, not 0.',
  nats: 'The unit of entropy and log-probability with the natural logarithm: 0.69 nats are one bit.',
  entropy: 'How much sampled answers differ. 0 means always the same answer.',
  KL: 'How far the updated policy moved from its parent, as the mean change of log-probability over its own answers.',
  displaced: 'Probability that went to neither the chosen nor the rejected answer, against the parent: from −1 to 1.',
  'log π': 'The mean log-probability of the answers of the data set, and in brackets its change against the parent.',
  'train-serve gap': 'The mean difference between log π that the trainer and the servers compute for the same rows, in ' +
    'nats per token. Above a limit, the servers play another policy than was trained, and the run pauses.',
  'rollout gap': 'The same difference for answers that the parent policy gave in rollouts.',
  loss: 'What an update minimises: how far its policy is from preferring the better answers. A table shows the last value.',
  'parse rate': 'The share of sampled answers that contain an action.',
  'rows left out': 'Rows of the data set that people left out of the update.',
  'style AUC': 'How well words alone, without the screen, separate chosen from rejected answers: 0.5 not at all, 1 ' +
    'always. If it is high, training may learn a style instead of the choice.',
  duplicates: 'Pairs whose prompt and answers occurred before.',
  tokens: 'Pieces of text that models read and write.',
  'tokens per success': 'Prompts and answers of all agents over all episodes, divided by the solved ones.',
  cost: 'What calls to chat endpoints took, at the prices of the specification. Without prices there is no cost.',
  duration: 'From the record of the specification to that of the end, with all pauses. In a copy of a run it is unknown.',
  who: 'The person who started the run, or made the fork.',
  line: 'A succession of accepted systems. A line names the run whose system it accepts now.',
  fork: 'A run that continues another one’s epochs with other values.',
  best: 'The highest rate on val of any epoch, the base included. The trained system is that of this epoch.',
  surprise: 'The largest −log π of an answer in the episode: how unlikely the agent found what it said.',
  agreement: 'Of the answers that critic and judge both label, the share that they label alike.',
  digest: 'The hash of everything that an epoch was made from. Equal digests mean equal results, bit by bit.',
  'who reads whom': 'The graph of an epoch: an arrow from a to b means that b reads the answers of a.',
  frontier: 'A line joins the systems that no other one beats with as few tokens.',
  decoding: 'How answers are sampled: n agents, m rounds, a temperature for each agent.',
  '[t]': 'Student’s interval over seeds, at 95 %.',
  '[c]': 'The interval over seeds and templates, at 95 %.',
  p: 'The probability of such a difference by chance, adjusted by Holm’s method for contrasts that are not primary.',
  claim: 'What an experiment declared before it was played; it holds or fails.',
  'missing pairs': 'Episodes that only one of both systems played, and the range of the difference with them.',
  'pass^k': 'The probability that k episodes of a template are all solved.',
  'pass@k': 'The probability that at least one of k episodes of a template is solved.',
  'entropy of votes': 'How much the agents disagree at a decision, in nats. 0 means that all votes name one action.',
  'false completes': 'The share of episodes that the agents declared to be complete without success.',
  schedule: 'It trains the system of a line again when its environment changes.',
  'recorded tasks': 'Tasks recorded beforehand. Their rates are rates of steps, never of success.',
};

let asking = 0;

// Ask is a "?" that explains a term in a sentence, with a link to the glossary.
function Ask({ of }) {
  const pop = useRef(null);
  const id = useMemo(() => 'ask-' + ++asking, []);
  if (!TERMS[of]) return null;
  const open = (e) => {
    e.preventDefault();
    e.stopPropagation();
    const { left, bottom } = e.currentTarget.getBoundingClientRect();
    pop.current.style.left = Math.max(8, Math.min(left, innerWidth - 320)) + 'px';
    pop.current.style.top = Math.max(8, Math.min(bottom + 4, innerHeight - 150)) + 'px';
    pop.current.togglePopover();
  };

  return html`<span class="ask"><button type="button" aria-label=${'what is ' + of + '?'} aria-describedby=${id}
    onClick=${open}>?</button><span id=${id} class="pop" popover ref=${pop}>${TERMS[of]}${' '}
      <a href=${href(['glossary'], { of })} onClick=${() => pop.current.hidePopover()}>glossary</a></span></span>`;
}

function GlossaryPage({ query }) {
  const here = useRef(null);
  useEffect(() => { if (here.current) here.current.scrollIntoView({ block: 'center' }); }, [query.of]);

  return html`<main id="main"><h1>Glossary</h1><dl class="glossary">${Object.entries(TERMS).map(([term, text]) => html`
    <div class=${term === query.of ? 'here' : ''} ref=${term === query.of ? here : null}><dt>${term}</dt><dd>${text}
      </dd></div>`)}</dl></main>`;
}
