import { Composer } from './composer.js';
import { button, element } from './element.js';
import { titleOf } from './inbox.js';
import { Timeline } from './timeline.js';

/** An open conversation: its title, members, messages, the activity of others, and a composer. */
export class ConversationView {
  constructor(person, id, { isTeam, hints, back, report }) {
    this.person = person;
    this.report = report;
    this.members = new Map();
    this.conversation = person.client.conversation(id, { pageSize: 20 });
    const { key } = person;
    this.badge = element('span', { class: 'count' });
    this.title = element('h3', { id: `${key}-title` }, 'Conversation');
    this.roster = element('ul', { class: 'roster', id: `${key}-roster`, hidden: true });
    this.rosterButton = button(
      () => this.toggleRoster(),
      { class: 'quiet', 'aria-expanded': 'false', 'aria-controls': `${key}-roster` },
      'Members',
    );
    this.timeline = new Timeline(person, this.conversation, { report });
    this.status = element('p', { class: 'status' });
    this.composer = new Composer(person, this.conversation, { isTeam, hints, report });
    this.root = element(
      'div',
      { class: 'conversation' },
      element(
        'div',
        { class: 'bar' },
        button(back, { class: 'quiet' }, '‹ Inbox', this.badge),
        this.title,
        this.rosterButton,
      ),
      this.roster,
      this.timeline.root,
      this.status,
      this.composer.root,
    );
    this.seen = () => this.markRead();
    document.addEventListener('visibilitychange', this.seen);
    this.conversation.on('change', () => this.changed());
    this.conversation.on('event', ({ event }) => {
      if (event.startsWith('participant.')) this.load(isTeam).catch(report);
    });
    this.conversation.on('end', (why) => {
      report(why === 'revoked' ? new Error('This conversation can no longer be read.') : why);
    });
    this.load(isTeam).catch(report);
  }

  /** Loads the title and the members, which do not come with the messages. */
  async load(isTeam) {
    const { client, id: ownId } = this.person;
    const shown = await client.conversations.get(this.conversation.id, ['participants']);
    this.title.textContent = titleOf(shown, ownId);
    for await (const { data } of this.conversation.members({ limit: 100 })) {
      for (const member of data) if (member.actor !== null) this.members.set(member.actor.id, member);
    }
    await this.conversation.opened;
    const isCase = isTeam && shown.audience === 'customer';
    this.composer.chooseAudience(isCase);
    this.timeline.open({ marksNotes: isCase, readThrough: this.members.get(ownId)?.last_read_sequence });
    this.showRoster();
    this.rosterButton.hidden = !isTeam;
    this.changed();
  }

  showRoster() {
    const rows = [...this.members.values()].map(({ actor, role, type }) => {
      const presence = this.conversation.presence.get(actor.id);
      const detail = `${type === 'user' ? role : type}${presence === undefined ? '' : `, ${presence}`}`;
      return element(
        'li',
        {},
        element('strong', {}, actor.name ?? 'Unnamed'),
        ' ',
        element('small', {}, detail),
      );
    });
    this.roster.replaceChildren(...rows);
  }

  changed() {
    this.timeline.draw();
    this.showStatus();
    this.markRead();
  }

  showStatus() {
    const { typingActors } = this.conversation;
    const names = typingActors.map(({ name }) => name ?? 'Someone').join(', ');
    const text = names === '' ? this.readers() : `${names} typing…`;
    this.status.classList.toggle('typing', typingActors.length > 0);
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  /** Returns the names of the others that have read everything, as a sentence. */
  readers() {
    const last = this.conversation.messages.findLast(({ sequence }) => sequence !== null);
    if (last === undefined) return '';
    const hasRead = (id) =>
      (this.conversation.reads.get(id)?.sequence ?? this.members.get(id)?.last_read_sequence ?? 0) >=
      last.sequence;
    const readers = [...this.members.keys()].filter((id) => id !== this.person.id && hasRead(id));
    return readers.length === 0 ? '' : `Read by ${this.namesOf(readers)}`;
  }

  namesOf(ids) {
    return ids.map((id) => this.members.get(id)?.actor.name ?? 'Someone').join(', ');
  }

  markRead() {
    if (document.visibilityState !== 'visible') return;
    this.conversation.markRead().catch(() => {});
  }

  toggleRoster() {
    const isOpening = this.roster.hidden;
    this.showRoster();
    this.roster.hidden = !isOpening;
    this.rosterButton.setAttribute('aria-expanded', String(isOpening));
  }

  showUnread(count) {
    this.badge.replaceChildren(
      ...(count === 0 ? [] : [String(count), element('span', { class: 'hidden' }, ' with something unread')]),
    );
  }

  /** Moves the focus to the composer, or to the message that a search has found. */
  focus(sequence) {
    if (sequence === undefined) this.composer.focus();
    else this.conversation.opened.then(() => this.timeline.show(sequence)).catch(this.report);
  }

  close() {
    document.removeEventListener('visibilitychange', this.seen);
    this.conversation.close();
  }
}
