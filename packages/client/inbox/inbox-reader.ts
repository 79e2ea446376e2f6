import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import type { EventFrame } from '@parley/protocol/socket/events.ts';
import { lost } from '../errors/parley-error.ts';
import { ListWindow } from '../lists/list-window.ts';
import { PagedReads } from '../lists/paged-reads.ts';
import { MOST_A_READ, readSome } from '../lists/read-some.ts';
import type { FollowHost, OpenInbox } from '../live/follow-host.ts';
import { Gaps } from '../live/gaps.ts';
import type { LoadedPart, PartOwner } from '../live/loaded-object.ts';
import { queryOf } from '../rest/pages.ts';
import { CONVERSATIONS } from '../rest/paths.ts';
import { FollowedSummary } from './followed-summary.ts';
import type { InboxQuery, InboxSnapshot } from './inbox-snapshot.ts';

/**
 * Keeps an inbox right. Conversations that events name are requested with the filters of the list,
 * many at once; a conversation that the answer lacks does not match. So every row comes from the
 * server, which alone decides the filters. Where nothing can be named (after a gap in the feed, or
 * with a server before 1.3.harbor), the loaded rows are read again.
 */
export class InboxReader implements LoadedPart<InboxSnapshot> {
  readonly #host: FollowHost;
  readonly #query: InboxQuery;
  readonly #set: PartOwner<InboxSnapshot>['set'];
  readonly #rows: ListWindow<Conversation>;
  readonly reads: PagedReads<Conversation>;
  readonly #summary: FollowedSummary;
  readonly #gaps: Gaps;
  readonly #ends: readonly ((() => void) | undefined)[];
  /** Conversations that may have changed. */
  readonly #named = new Set<string>();
  /** The numbers to which this client moves read positions, until a row has them. */
  readonly #reading = new Map<string, number>();
  /** Whether the server can be asked for conversations by their ids. */
  #canName = true;

  constructor(host: FollowHost, query: InboxQuery, given: PartOwner<InboxSnapshot>['set']) {
    const { pageSize = 25, order = 'activity' } = query;
    const { set, close }: OpenInbox = host.pages?.inbox(query, given) ?? { set: given };
    this.#host = host;
    this.#query = query;
    this.#set = set;
    this.#rows = new ListWindow(KEYS[order], { isAscending: order === 'waiting' });
    this.#summary = new FollowedSummary(host, {
      changed: (summary) => set({ summary }),
      snoozeEnded: () => this.reads.refresh(),
    });
    this.#gaps = new Gaps(host, () => this.reads.refresh());
    this.reads = new PagedReads({
      host,
      pageSize,
      set,
      window: this.#rows,
      first: (limit) => this.#path({ limit }),
      other: () => readSome(this.#named, (ids) => this.#readNamed(ids)),
      began: () => {
        this.#gaps.readBegan();
        this.#named.clear();
        this.#summary.ask();
      },
      changed: () => this.#changed(),
    });
    this.#ends = [
      close,
      host.onFrame((frame) => this.#receive(frame)),
      host.onTouched((id, isRead) => {
        if (!isRead) this.#reading.delete(id);
        this.#mayHaveChanged(id);
      }),
      host.onReading((id, through) => {
        this.#reading.set(id, through);
        if (this.#rows.get(id) !== undefined) this.#changed();
      }),
    ];
  }

  close(): void {
    this.reads.close();
    this.#summary.close();
    this.#gaps.close();
    for (const end of this.#ends) end?.();
  }

  #receive(frame: EventFrame): void {
    const { event, conversation_id: id, data } = frame as EventOf;
    switch (event) {
      case 'inbox.changed':
        if (data.conversation_ids === null) this.reads.refresh();
        else for (const one of data.conversation_ids) this.#mayHaveChanged(one);
        break;
      case 'inbox.updated':
        this.#receiveSummary(data);
        break;
      case 'conversation.added':
      case 'conversation.removed':
        this.#mayHaveChanged(data.id);
        break;
      case 'notification.created':
      case 'notification.updated':
        // `inbox.changed` follows only within seconds.
        if (data.resource_id?.startsWith(CONVERSATION_PREFIX)) this.#mayHaveChanged(data.resource_id);
        // Their number is in the summary, and no other event announces it.
        if (WORK.has(data.category)) this.#summary.ask();
        break;
      case 'message.created':
      case 'message.updated':
      case 'conversation.updated':
      case 'participant.added':
      case 'participant.updated':
      case 'participant.removed':
        if (id !== undefined) this.#mayHaveChanged(id);
        break;
      case 'read':
        if (id !== undefined && data.actor_id === this.#host.actor()?.id) this.#mayHaveChanged(id);
    }
  }

  #mayHaveChanged(id: string): void {
    if (!this.#canName) {
      this.reads.refresh();
      return;
    }
    this.#named.add(id);
    this.reads.wake();
  }

  /** Notices activity even if `inbox.changed` was lost with the node that had to send it. */
  #receiveSummary(summary: InboxSummary): void {
    const before = this.#summary.latest;
    if (!this.#summary.receive(summary)) return;
    if (!this.#canName) this.reads.refresh();
    for (const { conversation_id: id, activity_at: at } of summary.latest) {
      const known = this.#rows.get(id)?.activity_at ?? before.get(id);
      if (known === undefined || known < at) this.#mayHaveChanged(id);
    }
  }

  #changed(): void {
    const { items, next } = this.#rows;
    const conversations = this.#reading.size === 0 ? items : items.map((row) => this.#shown(row));
    if (conversations[0] !== undefined) this.#canName = conversations[0].activity_at !== undefined;
    this.#set({ status: 'ready', error: null, conversations, hasMore: next !== null });
    this.#summary.mayHaveChanged();
  }

  /** Shows a row as the own read position has it, which the server may not know yet. */
  #shown(row: Conversation): Conversation {
    const through = this.#reading.get(row.id) ?? 0;
    if ((row.last_read_sequence ?? 0) >= through) {
      this.#reading.delete(row.id);
      return row;
    }
    const last = row.last_message as Pick<ChatMessage, 'sequence'> | null;
    return (last?.sequence ?? 0) > through ? row : { ...row, unread: 0 };
  }

  async #readNamed(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#named.delete(id);
    try {
      const path = this.#path({ conversation_ids: ids, limit: MOST_A_READ });
      const { found } = await this.reads.pages(path, ids.length);
      const byId = new Map(found.map((one) => [one.id, one]));
      for (const id of ids) {
        const conversation = byId.get(id);
        if (conversation === undefined) this.#rows.delete(id);
        else this.#rows.put(conversation);
      }
    } catch (error) {
      for (const id of ids) this.#named.add(id);
      if (lost(error).code !== 'parameter_unknown') throw error;
      this.#canName = false;
      this.reads.refresh();
    }
  }

  #path(part: { readonly conversation_ids?: readonly string[]; readonly limit: number }): string {
    const { pageSize: _, order = 'activity', include = INCLUDE, ...filters } = this.#query;
    return `${CONVERSATIONS}${queryOf({ order, include, ...filters, ...part })}`;
  }
}

const INCLUDE = ['last_message', 'participants'] as const;
const CONVERSATION_PREFIX = 'cnv_';
const WORK: ReadonlySet<string> = new Set(['approval.requested', 'draft.proposed']);

const KEYS = { created: byCreation, activity: byActivity, waiting: byWaiting } as const;

function byCreation({ created_at, id }: Conversation): string {
  return `${created_at} ${id}`;
}

/** Servers before 1.3.harbor do not say when a deleted message was sent. */
function byActivity({ activity_at, last_message_at, created_at, id }: Conversation): string {
  return `${activity_at ?? last_message_at ?? created_at} ${id}`;
}

function byWaiting({ waiting_since, id }: Conversation): string {
  return `${waiting_since} ${id}`;
}
