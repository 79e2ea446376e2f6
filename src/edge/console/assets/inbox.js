import { element } from './element.js';
import { timeOf } from './time.js';

/**
 * Milliseconds between the first event of a burst, or the last keystroke of a search, and the
 * question for the list.
 */
const RELOAD_MS = 250;
const PAGE = 20;

/** This person's conversations, the one with the newest message first, and a search over them. */
export class Inbox {
  constructor(person, { isTeam, open, changed, report }) {
    const { key, name, client } = person;
    this.person = person;
    this.client = client;
    this.openRow = open;
    this.report = report;
    this.search = element('input', {
      type: 'search',
      id: `${key}-search`,
      placeholder: 'Search',
      'aria-label': `Search in the conversations of ${name}`,
      autocomplete: 'off',
      maxlength: '256',
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
    client.on('inbox.updated', ({ unread }) => {
      changed(unread);
      this.reloadSoon();
    });
    client.conversations.summary().then(({ unread }) => changed(unread), report);
    void this.reload();
  }

  reloadSoon() {
    clearTimeout(this.reloading);
    this.reloading = setTimeout(() => this.reload(), RELOAD_MS);
  }

  /** Loads the first page again: events say only that something has moved. */
  async reload() {
    const words = this.search.value.trim();
    const pages = words === '' ? this.listed() : this.found(words);
    this.pages = pages;
    try {
      const { value: page } = await pages.next();
      // A newer question is under way.
      if (this.pages !== pages) return;
      const focused = this.rows.contains(document.activeElement) ? document.activeElement.dataset.id : '';
      this.rows.replaceChildren();
      this.show(page);
      if (focused !== '') this.focus(focused);
      const isMore = page?.more === true ? ' or more' : '';
      this.summary.textContent = words === '' ? '' : `${page?.rows.length ?? 0}${isMore} found.`;
      if (this.hasFailed) this.report({ message: '' });
      this.hasFailed = false;
    } catch (error) {
      if (this.pages !== pages) return;
      // The rows of the search before would pass for its results.
      if (words !== '') this.rows.replaceChildren();
      this.more.hidden = true;
      this.hasFailed = true;
      this.report(error);
    }
  }

  async append() {
    const { pages } = this;
    const { value: page } = await pages.next();
    if (this.pages === pages) this.show(page);
  }

  show(page) {
    this.rows.append(...(page?.rows ?? []));
    if (this.rows.childElementCount === 0) {
      this.rows.append(element('li', { class: 'nothing' }, 'Nothing here.'));
    }
    this.more.hidden = page?.more !== true;
  }

  async *listed() {
    const pages = this.client.conversations.list({
      order: 'activity',
      include: ['last_message', 'participants'],
      limit: PAGE,
      ...(this.filter.value === '' ? {} : { filter: this.filter.value }),
    });
    for await (const { data, page_info: info } of pages) {
      // Those in which nothing was said yet come last.
      const shown = data.toSorted((a, b) => (a.last_message_at === null) - (b.last_message_at === null));
      yield { rows: shown.map((conversation) => this.rowOf(conversation)), more: info.has_next_page };
    }
  }

  /** Conversations that are called so, in front of messages that say so. */
  async *found(words) {
    const named = this.client.search(words, { type: 'conversations', include: ['participants'], limit: 5 });
    const { value: first } = await named.next();
    let rows = (first?.data ?? []).map(({ conversation }) => this.rowOf(conversation));
    for await (const page of this.client.search(words, {
      include: ['sender', 'conversation'],
      limit: PAGE,
    })) {
      rows = [...rows, ...page.data.map((hit) => this.hitOf(hit))];
      yield { rows, more: page.page_info.has_next_page };
      rows = [];
    }
  }

  hitOf({ conversation_id: id, message, highlights }) {
    const place = message.conversation?.title ?? 'a direct message';
    return element(
      'li',
      {},
      element(
        'button',
        {
          type: 'button',
          class: 'row',
          'data-id': message.id,
          onclick: () => this.openRow(id, message.sequence),
        },
        element(
          'span',
          { class: 'title' },
          message.sender?.name ?? 'Parley',
          element('small', {}, ` in ${place}`),
        ),
        element('time', { datetime: message.created_at }, timeOf(message.created_at)),
        element('span', { class: 'preview' }, ...marked(highlights[0], message.body ?? '')),
      ),
    );
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

/** The text around the words that were found, which are marked. */
function marked(highlight, body) {
  if (highlight === undefined) return [body];
  const { text, ranges } = highlight;
  const ends = [0, ...ranges.map(({ end }) => end)];
  return [
    ...ranges.flatMap(({ start, end }, i) => [
      text.slice(ends[i], start),
      element('mark', {}, text.slice(start, end)),
    ]),
    text.slice(ends.at(-1)),
  ];
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

/** What says that the list has changed, beside `inbox.updated`. */
const EVENTS = [
  'conversation.added',
  'conversation.removed',
  'notification.created',
  'notification.updated',
  'stale',
];
