import { element } from './element.js';

/** Tool calls of the agent that wait for this person's decision. */
export class Approvals {
  constructor(person, agentId, report) {
    this.person = person;
    this.report = report;
    this.cards = new Map();
    this.box = element('div', { class: 'approvals', 'aria-live': 'polite' });
    person.client.on('agent_run.updated', (run) => this.update(run));
    this.ready = this.load(agentId);
  }

  /** Loads the calls that were waiting before the page was opened. */
  async load(agentId) {
    const { data } = await this.person.client.fetch(`/v1/ai/agents/${agentId}/runs?limit=10`);
    for (const run of data.reverse()) await this.update(run);
  }

  async update({ id, status }) {
    if (status !== 'awaiting_approval') {
      this.cards.get(id)?.remove();
      this.cards.delete(id);
      return;
    }
    const { actions } = await this.person.client.fetch(`/v1/ai/runs/${id}?include[]=actions`);
    const waiting = actions.filter((action) => action.status === 'pending_review');
    if (waiting.length === 0 || this.cards.has(id)) return;
    const card = this.cardOf(id, waiting);
    this.cards.set(id, card);
    this.box.append(card);
  }

  cardOf(runId, actions) {
    const decide = async (approve, card) => {
      for (const button of card.querySelectorAll('button')) button.disabled = true;
      const decisions = actions.map(({ id }) => ({ action_id: id, approve }));
      await this.person.client
        .fetch(`/v1/ai/runs/${runId}/actions/continue`, { method: 'POST', body: { decisions } })
        .catch(this.report);
      card.remove();
      this.cards.delete(runId);
    };
    const button = (label, approve) =>
      element('button', { type: 'button', onclick: () => decide(approve, card) }, label);
    const card = element(
      'section',
      { class: 'approval', 'aria-label': 'Approval' },
      element('p', {}, element('strong', {}, 'The assistant asks to call '), ...toolsOf(actions)),
      ...actions.map(({ arguments: args }) =>
        element('pre', { tabindex: '0', 'aria-label': 'Arguments' }, shown(args)),
      ),
      element('p', { class: 'decisions' }, button('Approve', true), button('Reject', false)),
    );
    return card;
  }
}

function toolsOf(actions) {
  return actions.map(({ tool }) => element('code', {}, tool));
}

function shown(args) {
  return Object.entries(args)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}
