import { element } from './element.js';
import { timeOf } from './time.js';

/**
 * The messages of a conversation, drawn by key, so that each keeps its element from the local echo
 * on.
 */
export class Timeline {
  constructor(person, conversation, { report }) {
    this.person = person;
    this.conversation = conversation;
    this.report = report;
    this.items = new Map();
    this.marksNotes = false;
    this.older = element(
      'button',
      { type: 'button', class: 'quiet older', hidden: true, onclick: () => this.loadOlder() },
      'Show older messages',
    );
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
      // The box has another size since: that was not the person.
      if (clientHeight !== this.height) return;
      this.isAtEnd = scrollHeight - scrollTop - clientHeight < 40;
    });
    // When it becomes smaller by a card or a keyboard, it still shows the last message.
    new ResizeObserver(() => {
      this.height = this.root.clientHeight;
      this.toEnd();
    }).observe(this.root);
  }

  /**
   * `marksNotes`: marks what the customer does not see. `readThrough`: what was read before this
   * view was opened.
   */
  open({ marksNotes, readThrough }) {
    this.marksNotes = marksNotes;
    this.unread ??= this.conversation.messages.find(
      ({ sequence, sender, author_id: authorId }) =>
        sequence > (readThrough ?? Number.POSITIVE_INFINITY) && (authorId ?? sender?.id) !== this.person.id,
    ) ?? { key: undefined };
    for (const item of this.items.values()) item.message = undefined;
  }

  /** Shows older messages above, without moving what is being read. */
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
    // The team answers customers as Customer Service.
    const isOwn = delivery !== 'sent' || (authorId ?? sender?.id) === this.person.id;
    const isSystem = sender === null;
    row.className = `message ${isSystem ? 'system' : isOwn ? 'own' : kind} ${delivery}`;
    row.classList.toggle('writing', streaming === 'streaming');
    row.classList.toggle('note', this.isNote(message));
    row.replaceChildren(
      ...(this.isNote(message) ? [element('p', { class: 'flag' }, NOTE)] : []),
      this.headingOf(message, isSystem ? 'Parley' : isOwn ? 'You' : (sender.name ?? 'Unnamed')),
      element('p', { class: 'text' }, textOf(message)),
      ...this.filesOf(message),
      ...this.footOf(message),
      ...this.reactionsOf(message),
    );
  }

  /**
   * Whether the customer of this case does not see it. Of a message that is being sent, its request
   * says so.
   */
  isNote({ visibility, request }) {
    if (!this.marksNotes) return false;
    return request === undefined ? visibility === 'internal' : request.audience !== 'customer';
  }

  /** The reactions of all, as buttons that add or take back one's own. */
  reactionsOf({ id, reactions }) {
    const given = reactions ?? [];
    if (given.length === 0) return [];
    const buttons = given.map(({ emoji, count, mine }) =>
      element(
        'button',
        {
          type: 'button',
          class: 'reaction',
          'aria-pressed': String(mine),
          onclick: () => this.react(id, emoji, mine),
        },
        `${emoji} ${count}`,
      ),
    );
    return [element('div', { class: 'reactions', role: 'group', 'aria-label': 'Reactions' }, ...buttons)];
  }

  /** The reactions to choose from; a message that is not there to be reacted to has none. */
  menuOf({ id, delivery, sender, deleted_at: deletedAt }) {
    if (delivery !== 'sent' || sender === null || deletedAt !== null) return [];
    const buttons = EMOJIS.map(([emoji, label]) =>
      element(
        'button',
        {
          type: 'button',
          class: 'reaction',
          'aria-label': label,
          onclick: () => this.react(id, emoji, false),
        },
        emoji,
      ),
    );
    return [
      element(
        'details',
        { class: 'menu' },
        element('summary', { 'aria-label': 'React', title: 'React' }, '☺'),
        element('span', { class: 'reactions', role: 'group', 'aria-label': 'React with' }, ...buttons),
      ),
    ];
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
    return element(
      'div',
      { class: 'by' },
      element(
        'span',
        {},
        element('strong', {}, name),
        mark,
        ' ',
        element('time', { datetime: at }, timeOf(at)),
      ),
      ...this.menuOf(message),
    );
  }

  filesOf({ attachments }) {
    const files = attachments ?? [];
    return files.length === 0 ? [] : [element('p', { class: 'files' }, ...files.map(fileOf))];
  }

  /** What becomes of a message that is being sent. */
  footOf({ delivery, key, error }) {
    if (delivery === 'sent') return [];
    if (delivery === 'pending') return [element('p', { class: 'foot' }, 'Sending…')];
    const button = (label, act) => element('button', { type: 'button', class: 'quiet', onclick: act }, label);
    return [
      element(
        'p',
        { class: 'foot', role: 'alert' },
        `Not sent: ${error.message} `,
        button('Try again', () => this.conversation.retry(key).catch(() => {})),
        button('Discard', () => this.conversation.discard(key)),
      ),
    ];
  }

  /** Before the first message that was unread when the view was opened. */
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

/** Most pages of older messages that are loaded to show one. */
const MOST_PAGES = 25;

function textOf({ body, deleted_at: deletedAt, redaction }) {
  if (deletedAt === null || deletedAt === undefined) return body ?? '';
  return redaction ? 'Redacted.' : 'Deleted.';
}

function fileOf({ kind, url, filename, removed_at: removedAt }) {
  if (removedAt) return element('span', {}, `${filename ?? 'Attachment'} (removed)`);
  const name = filename ?? url ?? 'Attachment';
  if (kind === 'image') {
    return element(
      'a',
      { href: url, target: '_blank', rel: 'noreferrer' },
      element('img', { src: url, alt: name, loading: 'lazy' }),
    );
  }
  return element('a', { href: url, target: '_blank', rel: 'noreferrer' }, name);
}
