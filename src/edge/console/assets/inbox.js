import { button, element } from './element.js';
import { timeOf } from './time.js';

/** Milliseconds from the last keystroke, or change of a burst, to the search. */
const SEARCH_MS = 250;
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
      oninput: () => this.searchSoon(),
    });
    this.filter = element(
      'select',
      {
        id: `${key}-filter`,
        'aria-label': `Which conversations of ${name}`,
        onchange: () => this.openList(),
      },
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
    this.changed = changed;
    this.drawn = new WeakMap();
    this.openList();
  }

  /** Follows the list of the chosen filter. */
  openList() {
    this.list?.close();
    const filter = this.filter.value === '' ? {} : { filter: this.filter.value };
    this.list = this.client.inbox({ pageSize: PAGE, ...filter });
    this.list.on('change', ({ what }) => this.follow(what));
    void this.reload();
  }

  follow(what) {
    const { summary, error } = this.list.snapshot;
    if (what === 'summary') this.changed(summary.unread);
    else if (what === 'error') this.report(error ?? { message: '' });
    else if (this.words === '') this.draw();
    else if (what === 'conversations') this.searchSoon();
  }

  get words() {
    return this.search.value.trim();
  }

  searchSoon() {
    clearTimeout(this.searching);
    this.searching = setTimeout(() => this.reload(), SEARCH_MS);
  }

  /** Shows the list, or what the search finds now. */
  async reload() {
    const { words } = this;
    this.pages = words === '' ? undefined : this.found(words);
    if (words === '') this.draw();
    else await this.find(this.pages);
  }

  /** Shows the conversations; a row is drawn again only if its conversation has changed. */
  draw() {
    const { conversations, hasMore, status } = this.list.snapshot;
    if (status !== 'ready') return;
    // Conversations without a message come last.
    const shown = conversations.toSorted(
      (a, b) => (a.last_message_at === null) - (b.last_message_at === null),
    );
    const rows = shown.map((conversation) => {
      const row = this.drawn.get(conversation) ?? this.rowOf(conversation);
      this.drawn.set(conversation, row);
      return row;
    });
    this.summary.textContent = '';
    this.replace({ rows, more: hasMore });
  }

  async find(pages) {
    try {
      const { value: page } = await pages.next();
      // A newer search is under way.
      if (this.pages !== pages) return;
      this.replace(page);
      this.summary.textContent = `${page?.rows.length ?? 0}${page?.more === true ? ' or more' : ''} found.`;
    } catch (error) {
      if (this.pages !== pages) return;
      // The rows of the previous search would pass for the results of this one.
      this.rows.replaceChildren();
      this.more.hidden = true;
      this.report(error);
    }
  }

  async append() {
    const { pages } = this;
    if (pages === undefined) {
      await this.list.loadMore();
      return;
    }
    const { value: page } = await pages.next();
    if (this.pages === pages) this.show(page);
  }

  replace(page) {
    const focused = this.rows.contains(document.activeElement) ? document.activeElement.dataset.id : '';
    this.rows.replaceChildren();
    this.show(page);
    if (focused !== '') this.focus(focused);
  }

  show(page) {
    this.rows.append(...(page?.rows ?? []));
    if (this.rows.childElementCount === 0) {
      this.rows.append(element('li', { class: 'nothing' }, 'Nothing here.'));
    }
    this.more.hidden = page?.more !== true;
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
