import { button, element } from './element.js';
import { timeOf } from './time.js';

/** Milliseconds from the last event of a burst, or keystroke, to the request for the list. */
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
    const append = () => this.append().catch(report);
    this.more = button(append, { class: 'quiet', hidden: true }, 'Show more');
    this.summary = element('p', { class: 'hidden', role: 'status' });
    this.root = element(
      'div',
      { class: 'inbox' },
      element('div', { class: 'finder', role: 'search' }, this.search, isTeam ? this.filter : undefined),
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

  /** Loads the first page again, because events do not say which rows have moved. */
  async reload() {
    const words = this.search.value.trim();
    const pages = words === '' ? this.listed() : this.found(words);
    this.pages = pages;
    try {
      const { value: page } = await pages.next();
      // A newer request is under way.
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
      // The rows of the previous search would pass for the results of this one.
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
      // Conversations without a message come last.
      const shown = data.toSorted((a, b) => (a.last_message_at === null) - (b.last_message_at === null));
      yield { rows: shown.map((conversation) => this.rowOf(conversation)), more: info.has_next_page };
    }
  }

  /** Yields conversations whose title or members have the words, then messages that have them. */
  async *found(words) {
    const named = this.client.search(words, { type: 'conversations', include: ['participants'], limit: 5 });
    const { value: first } = await named.next();
    let rows = (first?.data ?? []).map(({ conversation }) => this.rowOf(conversation));
    const said = this.client.search(words, { include: ['sender', 'conversation'], limit: PAGE });
    for await (const page of said) {
      rows = [...rows, ...page.data.map((hit) => this.hitOf(hit))];
      yield { rows, more: page.page_info.has_next_page };
      rows = [];
    }
  }

  hitOf({ conversation_id: id, message, highlights }) {
    const place = message.conversation?.title ?? 'a direct message';
    return this.row(() => this.openRow(id, message.sequence), {
      id: message.id,
      title: [message.sender?.name ?? 'Parley', element('small', {}, ` in ${place}`)],
      at: message.created_at,
      preview: marked(highlights[0], message.body ?? ''),
    });
  }

  rowOf(conversation) {
    const { id, unread, last_message: last, last_message_at: at } = conversation;
    const hint = element('span', { class: 'hidden' }, ' unread');
    const count = unread === 0 ? undefined : element('span', { class: 'count' }, String(unread), hint);
    const title = [titleOf(conversation, this.person.id)];
    const preview = [last?.body ?? 'No messages yet.'];
    return this.row(() => this.openRow(id), { id, title, at, preview, count });
  }

  row(open, { id, title, at, preview, count }) {
    const row = button(
      open,
      { class: 'row', 'data-id': id },
      element('span', { class: 'title' }, ...title),
      at === null ? undefined : element('time', { datetime: at }, timeOf(at)),
      element('span', { class: 'preview' }, ...preview),
      count,
    );
    return element('li', {}, row);
  }

  focus(id) {
    const row = this.rows.querySelector(`[data-id="${id}"]`) ?? this.rows.querySelector('button');
    (row ?? this.search).focus();
  }
}

/** Returns the text around the words that were found, which are marked. */
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

/** Returns the title; a direct message has the name of the other person. */
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

/** The events after which the list may have changed, beside `inbox.updated`. */
const EVENTS = [
  'conversation.added',
  'conversation.removed',
  'notification.created',
  'notification.updated',
  'stale',
];
