import { button, element } from './element.js';

/** Milliseconds from the first event of a burst to the request for the new number. */
const RECOUNT_MS = 200;

/** This person's newest notifications, with the number of all unread ones. */
export class Bell {
  constructor({ client, key, name }, report) {
    this.client = client;
    this.report = report;
    this.unread = new Map();
    this.total = 0;
    this.count = element('span', { class: 'count', 'aria-hidden': 'true' });
    this.label = element('span', { class: 'hidden' });
    this.list = element('ul', { class: 'notifications', id: `${key}-notifications`, hidden: true });
    this.button = button(
      () => this.toggle(),
      { class: 'bell', 'aria-expanded': 'false', 'aria-controls': `${key}-notifications` },
      element('span', { class: 'icon', 'aria-hidden': 'true' }),
      this.count,
      this.label,
    );
    this.owner = name;
    for (const event of ['notification.created', 'notification.updated']) {
      client.on(event, (notification) => {
        this.update(notification);
        this.recount();
      });
    }
    this.show();
    this.ready = client.fetch('/v1/messaging/notifications?limit=20').then(({ data }) => {
      for (const notification of data.reverse()) this.update(notification);
      this.recount();
    });
  }

  /** The server counts, as reading a conversation changes entries that the list does not have. */
  recount() {
    this.recounting ??= setTimeout(() => {
      this.recounting = undefined;
      this.client
        .fetch('/v1/messaging/notifications/summary')
        .then(({ unread }) => {
          this.total = unread;
          this.show();
        })
        .catch(this.report);
    }, RECOUNT_MS);
  }

  update(notification) {
    const { id, read_at: readAt, dismissed_at: dismissedAt } = notification;
    if (readAt === null && dismissedAt === null) this.unread.set(id, notification);
    else this.unread.delete(id);
    this.show();
  }

  show() {
    this.count.textContent = this.total === 0 ? '' : String(this.total);
    this.label.textContent = `Notifications of ${this.owner}: ${this.total} unread`;
    const rows = [...this.unread.values()]
      .reverse()
      .map(({ title, body }) =>
        element('li', {}, element('strong', {}, title), body === null ? '' : ` ${body}`),
      );
    this.list.replaceChildren(...(rows.length === 0 ? [element('li', {}, 'Nothing new.')] : rows));
  }

  /** Marks the entries of the list as read when it is closed, because the person has seen them. */
  toggle() {
    const isOpening = this.list.hidden;
    this.list.hidden = !isOpening;
    this.button.setAttribute('aria-expanded', String(isOpening));
    if (isOpening || this.unread.size === 0) return;
    for (const id of this.unread.keys()) {
      const path = `/v1/messaging/notifications/${id}/actions/read`;
      this.client.fetch(path, { method: 'POST', body: {} }).catch(this.report);
    }
  }
}
