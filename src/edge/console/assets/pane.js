import { Approvals } from './approvals.js';
import { Bell } from './bell.js';
import { ConversationView } from './conversation-view.js';
import { element } from './element.js';
import { Inbox } from './inbox.js';

/** The pane of one person: the open conversation (at first `first`), or the list of all (null). */
export class Pane {
  constructor(person, { first, isTeam, hints }) {
    this.person = person;
    this.hints = hints;
    this.isTeam = isTeam;
    this.error = element('p', { class: 'error', role: 'alert' });
    this.report = (error) => {
      this.error.textContent = error.message;
    };
    this.state = element('span', { class: 'state', 'data-state': 'connecting' }, 'connecting');
    person.client.on('state', (state) => this.showState(state));
    person.client.on('error', ({ message, willRetry }) => {
      if (!willRetry) this.error.textContent = message;
    });
    this.bell = isTeam ? new Bell(person, this.report) : undefined;
    this.approvals = isTeam ? new Approvals(person, this.report) : undefined;
    this.inbox = new Inbox(person, {
      isTeam,
      open: (id, sequence) => this.open(id, { focus: true, sequence }),
      changed: (unread) => this.showUnread(unread),
      report: this.report,
    });
    this.unread = 0;
    this.place = element('div', { class: 'place' });
    this.root = element(
      'section',
      { class: 'pane', id: person.key, 'aria-labelledby': `${person.key}-name` },
      this.head(),
      this.bell?.list,
      this.approvals?.box,
      this.place,
      this.error,
    );
    if (first === null) this.place.append(this.inbox.root);
    else this.open(first);
    for (const part of [this.bell, this.approvals]) part?.ready.catch(this.report);
    if (isTeam) person.client.request('presence', { status: 'online' }).catch(this.report);
  }

  head() {
    const { key, name, detail } = this.person;
    return element(
      'div',
      { class: 'head' },
      element('span', { class: 'face', 'aria-hidden': 'true' }, name[0]),
      element('h2', { id: `${key}-name` }, name, ' ', element('small', {}, detail)),
      this.state,
      this.bell?.button,
    );
  }

  showState(state) {
    this.state.textContent = state.replace('_', ' ');
    this.state.dataset.state = state;
    if (state === 'live') this.error.textContent = '';
  }

  /** `focus`: moves the focus there, as the person asked for it; to the message of that number. */
  open(id, { focus = false, sequence } = {}) {
    this.view?.close();
    this.error.textContent = '';
    this.view = new ConversationView(this.person, id, {
      isTeam: this.isTeam,
      hints: this.hints[id] ?? [],
      back: () => this.showInbox(id),
      report: this.report,
    });
    this.view.showUnread(this.unread);
    this.place.replaceChildren(this.view.root);
    if (focus) this.view.focus(sequence);
  }

  showInbox(id) {
    this.view?.close();
    this.view = undefined;
    this.place.replaceChildren(this.inbox.root);
    this.inbox.reload().then(() => this.inbox.focus(id));
  }

  /** Shows the number of unread conversations beside the open one. */
  showUnread(unread) {
    this.unread = unread;
    this.view?.showUnread(unread);
  }
}
