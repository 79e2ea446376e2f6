import type { Actor } from '@parley/protocol/resources/actor.ts';
import type {
  MarkAllStatus,
  Notification,
  NotificationSummary,
} from '@parley/protocol/resources/notification.ts';
import type { EventFrame } from '@parley/protocol/socket/events.ts';
import { ListWindow } from '../lists/list-window.ts';
import { PagedReads } from '../lists/paged-reads.ts';
import { ReadLoop } from '../lists/read-loop.ts';
import { type FollowHost, isAttached } from '../live/follow-host.ts';
import type { LoadedPart, PartOwner } from '../live/loaded-object.ts';
import { queryOf } from '../rest/pages.ts';
import type { NotificationQuery, NotificationsSnapshot } from './feed-snapshot.ts';

/**
 * Keeps a feed of notifications right. Its events are durable and have the whole notification, so
 * pages are read again only after a gap in the feed. The counts are requested after events, once
 * for many (src/edge/gateway/DECISIONS.md#sockets-receive-no-counts).
 */
export class NotificationFeed implements LoadedPart<NotificationsSnapshot> {
  readonly #host: FollowHost;
  readonly #query: NotificationQuery;
  readonly #set: PartOwner<NotificationsSnapshot>['set'];
  readonly #rows = new ListWindow<Notification>(({ created_at, id }) => `${created_at} ${id}`);
  readonly reads: PagedReads<Notification>;
  readonly #counts: ReadLoop;
  readonly #ends: readonly (() => void)[];
  /** Whether everything since the last whole read arrives as events, after breaks too. */
  #isFollowed = false;

  constructor(host: FollowHost, query: NotificationQuery, set: PartOwner<NotificationsSnapshot>['set']) {
    const { pageSize = 25, category, status } = query;
    this.#host = host;
    this.#query = query;
    this.#set = set;
    this.reads = new PagedReads({
      host,
      pageSize,
      set,
      window: this.#rows,
      first: (limit) => `${PATH}${queryOf({ category, status, limit, include: ['sender'] })}`,
      began: () => {
        this.#isFollowed = isAttached(host.state());
        this.#counts.wake();
      },
      changed: () => this.#changed(),
    });
    this.#counts = new ReadLoop({
      timing: host.timing,
      restMs: COUNT_EVERY_MS,
      read: async () => {
        set({ summary: await host.fetch<NotificationSummary>(`${PATH}/summary`) });
        return false;
      },
      failed: () => {},
    });
    this.#ends = [
      host.onFrame(({ event, data }: EventFrame) => {
        if (event === 'notification.created' || event === 'notification.updated') {
          this.#receive(data as Notification);
        }
      }),
      host.actors.onLearned((id) => this.#learned(id)),
      host.onState((state) => {
        if (state === 'live' && !this.#isFollowed) this.reads.refresh();
      }),
    ];
  }

  /** Marks one, and shows the answer. */
  async mark(id: string, move: 'see' | 'read' | 'dismiss'): Promise<Notification> {
    const path = `${PATH}/${encodeURIComponent(id)}/actions/${move}`;
    const notification = await this.#host.fetch<Notification>(path, { method: 'POST', body: {} });
    this.#receive(notification);
    return notification;
  }

  /** Implements Notifications.markAll. */
  async markAll(status: MarkAllStatus): Promise<NotificationSummary> {
    const path = `${PATH}/actions/mark-all`;
    const summary = await this.#host.fetch<NotificationSummary>(path, { method: 'POST', body: { status } });
    this.reads.refresh();
    return summary;
  }

  #receive(notification: Notification): void {
    this.#put(notification);
    this.#changed();
    this.#counts.wake();
  }

  close(): void {
    this.reads.close();
    this.#counts.close();
    for (const end of this.#ends) end();
  }

  #put(notification: Notification): void {
    const { category, status } = this.#query;
    const isWanted =
      (category === undefined || notification.category === category) &&
      (status === undefined ? notification.status !== 'dismissed' : notification.status === status);
    this.#rows.change(notification.id, (known) => {
      if (known !== undefined && known.updated_at > notification.updated_at) return known;
      return isWanted
        ? { ...notification, sender: notification.sender ?? this.#senderOf(notification) }
        : undefined;
    });
  }

  /** Returns the sender, which events do not expand. */
  #senderOf({ sender_id: id }: Notification): Actor | null {
    return (id && this.#host.actors.get(id)) || null;
  }

  #learned(actorId: string): void {
    const due = this.#rows.items.filter(({ sender, sender_id: id }) => sender === null && id === actorId);
    for (const notification of due) this.#put(notification);
    if (due.length > 0) this.#changed();
  }

  #changed(): void {
    if (this.reads.isUnread) return;
    const { items: notifications, next } = this.#rows;
    this.#set({ status: 'ready', error: null, notifications, hasMore: next !== null });
  }
}

const PATH = '/v1/messaging/notifications';
const COUNT_EVERY_MS = 1_000;
