import { element } from './element.js';
import { timeOf } from './time.js';

/** Milliseconds between the first event of a burst, or the last keystroke of a search, and the question for the list. */
const RELOAD_MS = 250;
const PAGE = 20;

/** This person's conversations, the one with the newest message first, and a search over them. */
export class Inbox {
  constructor(person, { isTeam, open, changed, report }) {
    this.person = person;
    this.openRow = open;
    this.changed = changed;
    this.report = report;
    const { key, name, client } = person;
    this.search = element('input', {
      type: 'search',
      id: `${key}-search`,
      placeholder: 'Search',
      'aria-label': `Search in the conversations of ${name}`,
      autocomplete: 'off',
      oninput: () => this.reloadSoon(),
    });
    this.filter = element(
      'select',
      { id: `${key}-filter`, 'aria-label': `Which conversations of ${name}`, onchange: () => this.reload() },
      ...Object.entries(FILTERS).map(([value, label]) => element('option', { value }, label)),
    );
    this.rows = element('ul', { class: 'rows', 'aria-label': `Conversations of ${name}` });
    this.more = element(
      'button',
      { type: 'button', class: 'quiet', hidden: true, onclick: () => this.append().catch(report) },
      'Show more',
    );
    this.summary = element('p', { class: 'hidden', role: 'status' });
    this.root = element(
      'div',
      { class: 'inbox' },
      element('div', { class: 'finder', role: 'search' }, this.search, ...(isTeam ? [this.filter] : [])),
      this.summary,
      this.rows,
      this.more,
    );
    for (const event of EVENTS) client.on(event, () => this.reloadSoon());
    void this.reload();
  }

  reloadSoon() {
    clearTimeout(this.reloading);
    this.reloading = setTimeout(() => this.reload(), RELOAD_MS);
  }

  /** Loads the first page again: events say only that something has moved. */
  async reload() {
    const pages = this.person.client.conversations.list({
      order: 'activity',
      include: ['last_message', 'participants'],
      limit: PAGE,
      ...(this.filter.value === '' ? {} : { filter: this.filter.value }),
      ...(this.search.value.trim() === '' ? {} : { q: this.search.value }),
    });
    this.pages = pages;
    try {
      const page = await pages.next();
      // A newer question is under way.
      if (this.pages !== pages) return;
      const focused = this.rows.contains(document.activeElement)
        ? document.activeElement.dataset.id
        : undefined;
      this.rows.replaceChildren();
      this.unread = 0;
      this.show(page);
      if (focused !== undefined) this.focus(focused);
      const count = this.rows.childElementCount;
      this.summary.textContent = this.search.value === '' ? '' : `${count} conversations found.`;
    } catch (error) {
      this.report(error);
    }
  }

  async append() {
    const { pages } = this;
    const page = await pages.next();
    if (this.pages === pages) this.show(page);
  }

  show({ value: page }) {
    const shown = page?.data ?? [];
    this.rows.append(...shown.map((conversation) => this.rowOf(conversation)));
    if (this.rows.childElementCount === 0)
      this.rows.append(element('li', { class: 'nothing' }, 'Nothing here.'));
    this.more.hidden = page?.page_info.has_next_page !== true;
    if (this.filter.value !== '' || this.search.value !== '') return;
    this.unread += shown.filter(({ unread }) => unread > 0).length;
    this.changed(this.unread);
  }

  rowOf(conversation) {
    const { id, unread, last_message: last, last_message_at: at } = conversation;
    return element(
      'li',
      {},
      element(
        'button',
        { type: 'button', class: 'row', 'data-id': id, onclick: () => this.openRow(id) },
        element('span', { class: 'title' }, titleOf(conversation, this.person.id)),
        at === null ? '' : element('time', { datetime: at }, timeOf(at)),
        element('span', { class: 'preview' }, last?.body ?? 'No messages yet.'),
        ...(unread === 0
          ? []
          : [
              element(
                'span',
                { class: 'count' },
                String(unread),
                element('span', { class: 'hidden' }, ' unread'),
              ),
            ]),
      ),
    );
  }

  focus(id) {
    const row = this.rows.querySelector(`[data-id="${id}"]`) ?? this.rows.querySelector('button');
    (row ?? this.search).focus();
  }
}

/** A direct message is called by the other person. */
export function titleOf({ title, participants }, ownId) {
  if (title !== null) return title;
  const others = (participants ?? []).filter(({ actor }) => actor !== null && actor.id !== ownId);
  return others.map(({ actor }) => actor.name).join(', ') || 'Conversation';
}

const FILTERS = {
  '': 'All',
  unread: 'Unread',
  mine: 'Mine',
  unassigned: 'Unassigned',
  snoozed: 'Snoozed',
};

/** What says that the list has changed. */
const EVENTS = [
  'inbox.updated',
  'conversation.added',
  'conversation.removed',
  'notification.created',
  'notification.updated',
  'stale',
];
