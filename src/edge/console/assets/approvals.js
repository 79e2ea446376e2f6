import { button, element } from './element.js';

const CATEGORY = 'approval.requested';

/**
 * The tool calls that wait for a decision of this person, also in runs of others. Everyone with the
 * right to decide has their notifications, which are withdrawn after the first decision.
 */
export class Approvals {
  constructor(person, report) {
    this.client = person.client;
    this.report = report;
    /** By the id of the notification; undefined while its card is being made. */
    this.cards = new Map();
    this.withdrawn = new Set();
    this.box = element('div', { class: 'approvals', 'aria-live': 'polite' });
    for (const event of ['notification.created', 'notification.updated']) {
      this.client.on(event, (notification) => void this.update(notification).catch(report));
    }
    this.client.on('stale', () => void this.load().catch(report));
    this.ready = this.load();
  }

  /** Loads the waiting calls, and removes the cards of those decided while this page was away. */
  async load() {
    const path = `/v1/messaging/notifications?category=${CATEGORY}&limit=20`;
    const { data } = await this.client.fetch(path);
    const waiting = new Set(data.map(({ id }) => id));
    for (const id of [...this.cards.keys()]) if (!waiting.has(id)) this.remove(id);
    for (const notification of data.reverse()) await this.update(notification);
  }

  async update({ id, category, title, agent_run_id: runId, dismissed_at: dismissedAt }) {
    if (category !== CATEGORY) return;
    if (dismissedAt !== null) return this.withdraw(id);
    if (this.cards.has(id) || this.withdrawn.has(id)) return;
    this.cards.set(id, undefined);
    try {
      const waiting = await this.waitingOf(runId);
      // The calls may have been decided meanwhile.
      if (waiting.length === 0 || !this.cards.has(id)) return;
      const card = this.cardOf(id, title, runId, waiting);
      this.cards.set(id, card);
      this.box.append(card);
    } finally {
      if (this.cards.get(id) === undefined) this.cards.delete(id);
    }
  }

  async waitingOf(runId) {
    const { actions } = await this.client.fetch(`/v1/ai/runs/${runId}?include[]=actions`);
    return actions.filter(({ status }) => status === 'pending_review');
  }

  withdraw(id) {
    this.withdrawn.add(id);
    this.remove(id);
  }

  remove(id) {
    this.cards.get(id)?.remove();
    this.cards.delete(id);
  }

  cardOf(id, title, runId, actions) {
    const choice = (label, approve) => button(() => this.decide(id, runId, actions, approve), {}, label);
    const tools = actions.map(({ tool }) => element('code', {}, tool));
    return element(
      'section',
      { class: 'approval', 'aria-label': 'Approval' },
      element('p', {}, element('strong', {}, title), ', to call ', ...tools),
      ...actions.map(({ arguments: args }) =>
        element('pre', { tabindex: '0', 'aria-label': 'Arguments' }, shown(args)),
      ),
      element('p', { class: 'decisions' }, choice('Approve', true), choice('Reject', false)),
    );
  }

  /** The other panes remove the card when the notification is withdrawn. */
  async decide(id, runId, actions, approve) {
    const buttons = this.cards.get(id).querySelectorAll('button');
    for (const button of buttons) button.disabled = true;
    const decisions = actions.map((action) => ({ action_id: action.id, approve }));
    try {
      await this.client.fetch(`/v1/ai/runs/${runId}/actions/continue`, {
        method: 'POST',
        body: { decisions },
      });
    } catch (error) {
      // If another person decided first, there is nothing to report.
      const waiting = await this.waitingOf(runId).catch(() => actions);
      if (waiting.length > 0) {
        for (const button of buttons) button.disabled = false;
        this.report(error);
        return;
      }
    }
    this.withdraw(id);
  }
}

function shown(args) {
  return Object.entries(args)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}
