import { button, element } from './element.js';
import { timeOf } from './time.js';

/** The messages of a conversation, by key, so that each keeps the element of its local echo. */
export class Timeline {
  constructor(person, conversation, { report }) {
    this.person = person;
    this.conversation = conversation;
    this.report = report;
    this.items = new Map();
    this.marksNotes = false;
    const loadOlder = () => this.loadOlder();
    this.older = button(loadOlder, { class: 'quiet older', hidden: true }, 'Show older messages');
    this.newLine = element('p', { class: 'new' }, 'New');
    this.list = element('div', {
      class: 'messages',
      role: 'log',
      'aria-label': `Messages, as ${person.name} sees them`,
    });
    this.root = element('div', { class: 'timeline', tabindex: '0' }, this.older, this.list);
    this.isAtEnd = true;
    this.height = 0;
    this.root.addEventListener('scroll', () => {
      const { scrollTop, scrollHeight, clientHeight } = this.root;
      // The box has changed its size meanwhile, so the person did not scroll.
      if (clientHeight !== this.height) return;
      this.isAtEnd = scrollHeight - scrollTop - clientHeight < 40;
    });
    // A box that becomes smaller, because of a card or a keyboard, still shows the last message.
    new ResizeObserver(() => {
      this.height = this.root.clientHeight;
      this.toEnd();
    }).observe(this.root);
  }

  /**
   * `marksNotes`: whether to mark messages that the customer does not see. `readThrough`: the last
   * number that was read before this view was opened.
   */
  open({ marksNotes, readThrough }) {
    this.marksNotes = marksNotes;
    this.unread ??= this.conversation.messages.find(
      ({ sequence, sender, author_id: authorId }) =>
        sequence > (readThrough ?? Number.POSITIVE_INFINITY) && (authorId ?? sender?.id) !== this.person.id,
    ) ?? { key: undefined };
    for (const item of this.items.values()) item.message = undefined;
  }

  /** Shows older messages above, without moving the visible ones. */
  async loadOlder() {
    this.older.disabled = true;
    this.list.setAttribute('aria-busy', 'true');
    const fromEnd = this.root.scrollHeight - this.root.scrollTop;
    try {
      await this.conversation.loadOlder();
      this.draw();
      this.root.scrollTop = this.root.scrollHeight - fromEnd;
    } catch (error) {
      this.report(error);
    } finally {
      this.older.disabled = false;
      this.list.removeAttribute('aria-busy');
    }
  }

  draw() {
    const { messages, hasOlder } = this.conversation;
    const keys = new Set(messages.map(({ key }) => key));
    for (const [key, { row }] of this.items) {
      if (keys.has(key)) continue;
      row.remove();
      this.items.delete(key);
    }
    let next = this.list.firstChild;
    for (const message of messages) {
      const item = this.itemOf(message);
      if (next === this.newLine) next = next.nextSibling;
      if (item.row === next) next = next.nextSibling;
      else this.list.insertBefore(item.row, next);
    }
    this.older.hidden = !hasOlder || messages.length === 0;
    this.placeNewLine();
    this.toEnd();
  }

  itemOf(message) {
    const known = this.items.get(message.key);
    if (known?.message === message) return known;
    const item = known ?? { row: element('article', {}) };
    item.message = message;
    this.fill(item.row, message);
    this.items.set(message.key, item);
    return item;
  }

  fill(row, message) {
    const { sender, author_id: authorId, delivery, kind, streaming_state: streaming } = message;
    // The sender of an answer to a customer is Customer Service.
    const isOwn = delivery !== 'sent' || (authorId ?? sender?.id) === this.person.id;
    const isSystem = sender === null;
    const isNote = this.isNote(message);
    row.className = `message ${isSystem ? 'system' : isOwn ? 'own' : kind} ${delivery}`;
    row.classList.toggle('writing', streaming === 'streaming');
    row.classList.toggle('note', isNote);
    row.replaceChildren(
      ...(isNote ? [element('p', { class: 'flag' }, NOTE)] : []),
      this.headingOf(message, isSystem ? 'Parley' : isOwn ? 'You' : (sender.name ?? 'Unnamed')),
      element('p', { class: 'text' }, textOf(message)),
      ...this.filesOf(message),
      ...this.footOf(message),
      ...this.reactionsOf(message),
    );
  }

  /** Returns whether the customer of this case does not see the message, or will not. */
  isNote({ visibility, request }) {
    if (!this.marksNotes) return false;
    return request === undefined ? visibility === 'internal' : request.audience !== 'customer';
  }

  /** Returns the reactions of all, as buttons that add or take back the person's own. */
  reactionsOf({ id, reactions }) {
    if (!reactions?.length) return [];
    const buttons = reactions.map(({ emoji, count, mine }) => {
      const properties = { class: 'reaction', 'aria-pressed': String(mine) };
      return button(() => this.react(id, emoji, mine), properties, `${emoji} ${count}`);
    });
    return [element('div', { class: 'reactions', role: 'group', 'aria-label': 'Reactions' }, ...buttons)];
  }

  /** Returns the reactions to choose from; undefined for messages that take none. */
  menuOf({ id, delivery, sender, deleted_at: deletedAt }) {
    if (delivery !== 'sent' || sender === null || deletedAt !== null) return undefined;
    const buttons = EMOJIS.map(([emoji, label]) =>
      button(() => this.react(id, emoji, false), { class: 'reaction', 'aria-label': label }, emoji),
    );
    return element(
      'details',
      { class: 'menu' },
      element('summary', { 'aria-label': 'React', title: 'React' }, '☺'),
      element('span', { class: 'reactions', role: 'group', 'aria-label': 'React with' }, ...buttons),
    );
  }

  react(id, emoji, isMine) {
    const done = isMine ? this.conversation.unreact(id, emoji) : this.conversation.react(id, emoji);
    done.catch(this.report);
  }

  /** Loads older messages until this number is there, and shows it. */
  async show(sequence) {
    const isThere = () => this.conversation.messages.some((message) => message.sequence === sequence);
    for (let pages = 0; pages < MOST_PAGES && !isThere() && this.conversation.hasOlder; pages++) {
      await this.conversation.loadOlder();
    }
    this.draw();
    const message = this.conversation.messages.find((one) => one.sequence === sequence);
    if (message === undefined) return;
    this.isAtEnd = false;
    const { row } = this.items.get(message.key);
    row.classList.add('found');
    row.tabIndex = -1;
    row.focus({ preventScroll: true });
    this.root.scrollTop = row.offsetTop - this.root.clientHeight / 2;
  }

  headingOf(message, name) {
    const { created_at: at, kind, email_status: mail } = message;
    const mark = kind === 'email' ? ' · by mail' : mail ? ` · mail ${mail}` : '';
    const time = element('time', { datetime: at }, timeOf(at));
    const by = element('span', {}, element('strong', {}, name), mark, ' ', time);
    return element('div', { class: 'by' }, by, this.menuOf(message));
  }

  filesOf({ attachments }) {
    return attachments?.length ? [element('p', { class: 'files' }, ...attachments.map(fileOf))] : [];
  }

  /** Returns the state of a message that is being sent, or was not. */
  footOf({ delivery, key, error }) {
    if (delivery === 'sent') return [];
    if (delivery === 'pending') return [element('p', { class: 'foot' }, 'Sending…')];
    return [
      element(
        'p',
        { class: 'foot', role: 'alert' },
        `Not sent: ${error.message} `,
        button(() => this.conversation.retry(key).catch(() => {}), { class: 'quiet' }, 'Try again'),
        button(() => this.conversation.discard(key), { class: 'quiet' }, 'Discard'),
      ),
    ];
  }

  /** Puts the line before the first message that was unread when the view was opened. */
  placeNewLine() {
    const row = this.items.get(this.unread?.key)?.row;
    if (row === undefined) this.newLine.remove();
    else if (this.newLine.nextSibling !== row) row.before(this.newLine);
  }

  toEnd() {
    if (this.isAtEnd) this.root.scrollTop = this.root.scrollHeight;
  }
}

const NOTE = 'Note to the team, not seen by the customer';

const EMOJIS = [
  ['👍', 'Thumbs up'],
  ['❤️', 'Heart'],
  ['🎉', 'Party popper'],
  ['😄', 'Laughing'],
  ['👀', 'Eyes'],
];

/** Most pages of older messages that are loaded to show one message. */
const MOST_PAGES = 25;

function textOf({ body, deleted_at: deletedAt, redaction }) {
  if (deletedAt === null || deletedAt === undefined) return body ?? '';
  return redaction ? 'Redacted.' : 'Deleted.';
}

function fileOf({ kind, url, filename, removed_at: removedAt }) {
  if (removedAt) return element('span', {}, `${filename ?? 'Attachment'} (removed)`);
  const name = filename ?? url ?? 'Attachment';
  const shown = kind === 'image' ? element('img', { src: url, alt: name, loading: 'lazy' }) : name;
  return element('a', { href: url, target: '_blank', rel: 'noreferrer' }, shown);
}
