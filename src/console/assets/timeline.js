import { element } from './element.js';

/** A list of messages, which grows while the agent writes. */
export class Timeline {
  /** `marksNotes`: marks the messages that the customer does not see. */
  constructor(label, ownId, marksNotes) {
    this.ownId = ownId;
    this.marksNotes = marksNotes;
    this.items = new Map();
    this.list = element('div', { class: 'timeline', role: 'log', 'aria-label': label, tabindex: '0' });
    // When it becomes smaller by a card or a keyboard, it still shows the last message.
    new ResizeObserver(() => this.toEnd()).observe(this.list);
  }

  /** Shows a new message, or a newer state of one. */
  show(message) {
    const known = this.items.get(message.id);
    const item = known ?? this.add(message);
    const isWriting = message.streaming_state === 'streaming';
    if (!isWriting || known === undefined) item.text.textContent = textOf(message);
    item.row.classList.toggle('writing', isWriting);
    item.mail.textContent = mailOf(message);
    item.files.replaceChildren(...(message.attachments ?? []).map(fileOf));
    this.toEnd();
  }

  /** Removes the messages up to a number. */
  drop(through) {
    for (const [id, { row, sequence }] of this.items) {
      if (sequence === null || sequence > through) continue;
      row.remove();
      this.items.delete(id);
    }
  }

  write({ messageId, body }) {
    const item = this.items.get(messageId);
    if (item === undefined) return;
    item.text.textContent = body;
    this.toEnd();
  }

  add(message) {
    const text = element('p', { class: 'text' });
    const files = element('p', { class: 'files' });
    const mail = element('span', { class: 'mail' });
    const isSystem = message.sender === null;
    const isOwn = message.sender?.id === this.ownId;
    const heading = element(
      'p',
      { class: 'by' },
      element('strong', {}, isSystem ? 'Parley' : isOwn ? 'You' : message.sender.name),
      ...(this.marksNotes && message.visibility === 'internal' ? [' · note to the team'] : []),
      ' ',
      element('time', { datetime: message.created_at }, TIME.format(new Date(message.created_at))),
      mail,
    );
    const kind = isSystem ? 'system' : isOwn ? 'own' : message.kind;
    const row = element('article', { class: `message ${kind}`, 'data-id': message.id }, heading, text, files);
    this.list.append(row);
    const item = { row, text, files, mail, sequence: message.sequence };
    this.items.set(message.id, item);
    return item;
  }

  toEnd() {
    this.list.scrollTop = this.list.scrollHeight;
  }
}

const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

function textOf({ body, deleted_at: deletedAt, redaction }) {
  if (deletedAt === null) return body ?? '';
  return redaction ? 'Redacted.' : 'Deleted.';
}

/** How a message came or leaves by mail, and what became of it; empty for what is no mail. */
function mailOf({ kind, email_status: status }) {
  if (kind === 'email') return ' · by mail';
  return status ? ` · mail ${status}` : '';
}

function fileOf({ url, filename, removed_at: removedAt }) {
  if (removedAt) return element('span', {}, `${filename ?? 'Attachment'} (removed)`);
  return element('a', { href: url, target: '_blank', rel: 'noreferrer' }, filename ?? 'Attachment');
}
