import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import { PAGE_LIMIT } from '@parley/protocol/lists.ts';
import type { InboxChanged } from '@parley/protocol/socket/event-data.ts';
import { EVENTS } from '@parley/protocol/socket/events.ts';
import { covers } from '@parley/protocol/versions.ts';
import { type Principal, seesWholeAccount } from '../../api/access/principal.ts';
import type { InboxChange, InboxChangedFrame } from '../../core/frames/frame.ts';
import { toEphemeralFrame } from '../../core/frames/publish.ts';
import { readInboxSummary } from '../../core/inbox/summary-store.ts';
import { INBOX_CHANNEL } from '../../core/inbox/writer.ts';
import { EngineUnavailableError, type Subscription } from '../../platform/engine/engine.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { NodeOptions } from './options.ts';
import type { Session } from './session/session.ts';
import type { Sessions } from './session/sessions.ts';
import { bytesFor } from './stream/forms.ts';
import type { Broadcast } from './stream/reader.ts';

export interface InboxUpdatesOptions extends Pick<NodeOptions, 'database' | 'engine' | 'directory' | 'log'> {
  readonly sessions: Pick<Sessions<Session>, 'of' | 'all'>;
  /** Publishes to the sockets of this node only. */
  readonly broadcast: Broadcast;
}

/**
 * Sends `inbox.updated` and `inbox.changed` to the sockets of this node. Each node that has sockets
 * of an actor reads the summary itself when the writer of inbox rows announces a change, because
 * the writer does not know who is connected. An actor gets at most one event a second, and no
 * repeat of the last unless it polls. Summaries are read one after the other, and the loop rests
 * for longer than it reads, so that they never take more than a part of one processor.
 * `inbox.changed` needs no read: the announcement has the ids, and the writer writes a conversation
 * at most once a second.
 */
export class InboxUpdates {
  readonly #options: InboxUpdatesOptions;
  readonly #loop: Loop;
  readonly #unregister: () => void;
  #subscription: Subscription | undefined;
  #stale = new Set<string>();
  /** The last summary sent, by actor. */
  #sent = new Map<string, string>();
  /** Actors whose lists may have changed in ways that were not announced. */
  #unnamed = new Set<string>();
  /** Sessions that may lack the last summary. */
  readonly #repeats = new WeakSet<Session>();
  #restUntilMs = 0;

  constructor(options: InboxUpdatesOptions) {
    this.#options = options;
    this.#unregister = options.engine.onMissed(({ reason, channels }) => {
      if (channels === undefined || channels.has(INBOX_CHANNEL)) this.#markAll(reason === 'away');
    });
    this.#loop = new Loop({
      intervalMs: ROUND_EVERY_MS,
      run: (signal) => this.#round(signal),
      onError: (error) => {
        if (!(error instanceof EngineUnavailableError))
          options.log.warn({ err: error }, 'inbox.updated failed');
      },
    });
  }

  async close(): Promise<void> {
    this.#unregister();
    await this.#loop.close();
    this.#subscription?.unsubscribe();
  }

  /** Sends the session the summary, even if it is the last one that its actor was sent. */
  repeat(session: Session): void {
    if (session.principal === undefined) return;
    this.#repeats.add(session);
    this.#mark(session.principal.actor.id);
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { engine } = this.#options;
    this.#subscription ??= await engine.subscribe(INBOX_CHANNEL, (frame) => {
      if (frame.kind === 'inbox_changed') void this.#changed(frame);
    });
    const beganMs = performance.now();
    if (beganMs < this.#restUntilMs || this.#stale.size === 0) return;
    const stale = this.#stale;
    this.#stale = new Set();
    for (const actorId of stale) if (!signal.aborted) await this.#update(actorId);
    for (const actorId of this.#sent.keys()) {
      if (this.#readerOf(actorId) === undefined) this.#sent.delete(actorId);
    }
    const endedMs = performance.now();
    this.#restUntilMs = Math.max(beganMs + ROUND_EVERY_MS, endedMs + REST * (endedMs - beganMs));
  }

  async #changed({ accountId, change }: InboxChangedFrame): Promise<void> {
    const { sessions, directory } = this.#options;
    const changed = changedByActor(change);
    const facts = await Promise.all(change.large.map((id) => directory.facts(id)));
    const listed = listedByAll(change);
    for (const { principal } of sessions.of(accountId)) {
      if (principal === undefined) continue;
      const { actor, customer } = principal;
      if (seesWholeAccount(principal)) {
        const own = changed.get(actor.id);
        changed.set(actor.id, listed && own ? new Set([...own, ...listed]) : listed);
      }
      // Customers do not learn when members of the team write to each other.
      if (seesWholeAccount(principal) || customer) continue;
      const own = change.large.filter((_, place) => facts[place]?.members.has(actor.id));
      if (own.length === 0) continue;
      if (!changed.has(actor.id)) changed.set(actor.id, new Set());
      for (const id of own) changed.get(actor.id)?.add(id);
    }
    for (const [actorId, conversationIds] of changed) {
      this.#mark(actorId);
      this.#name(actorId, conversationIds);
    }
  }

  /** Sends `inbox.changed`; without ids if they are unknown or too many for a page. */
  #name(actorId: string, conversationIds: ReadonlySet<string> | undefined): void {
    const { sessions, broadcast } = this.#options;
    const { since } = EVENTS['inbox.changed'];
    const isHeard = sessions.of(actorId).some(({ hasFeed, version }) => hasFeed && covers(version, since));
    if (!isHeard || conversationIds?.size === 0) return;
    const isListed = conversationIds !== undefined && conversationIds.size <= PAGE_LIMIT.most;
    const data: InboxChanged = { conversation_ids: isListed ? [...conversationIds] : null };
    const event = { event: 'inbox.changed', stream: actorId, conversationId: null, sequence: 0 } as const;
    const at = wireTime(Date.now());
    broadcast('durable', toEphemeralFrame({ ...event, resource: actorId, at, team: data, customer: data }));
  }

  #mark(actorId: string): void {
    if (this.#readerOf(actorId) === undefined) return;
    this.#stale.add(actorId);
    this.#loop.wake();
  }

  /** Marks all actors. `isRepeated`: runs every second; lists are named where a summary changed. */
  #markAll(isRepeated: boolean): void {
    const { sessions } = this.#options;
    const actorIds = new Set([...sessions.all()].flatMap(({ principal }) => principal?.actor.id ?? []));
    for (const actorId of actorIds) {
      this.#mark(actorId);
      if (!isRepeated) this.#name(actorId, undefined);
    }
    this.#unnamed = isRepeated ? actorIds : new Set();
  }

  /** Returns the caller of a socket that would get the event. */
  #readerOf(actorId: string): Principal | undefined {
    const { since } = EVENTS['inbox.updated'];
    return this.#options.sessions
      .of(actorId)
      .find(({ hasFeed, version, principal }) => hasFeed && covers(version, since) && !principal?.customer)
      ?.principal;
  }

  async #update(actorId: string): Promise<void> {
    const { database, sessions, broadcast } = this.#options;
    const principal = this.#readerOf(actorId);
    if (principal === undefined) return;
    const summary = await readInboxSummary(database, principal);
    const { as_of: _, ...content } = summary;
    const said = JSON.stringify(content);
    const lacking = sessions
      .of(actorId)
      .filter((session) => this.#repeats.delete(session) && session.hasFeed);
    const isNews = this.#sent.get(actorId) !== said;
    if (!isNews && lacking.length === 0) return;
    this.#sent.set(actorId, said);
    const event = { event: 'inbox.updated', stream: actorId, conversationId: null, sequence: 0 } as const;
    const frame = toEphemeralFrame({ ...event, resource: actorId, at: summary.as_of, team: summary });
    const isUnnamed = this.#unnamed.delete(actorId);
    if (isNews && isUnnamed) this.#name(actorId, undefined);
    if (isNews) broadcast('durable', frame);
    else for (const session of lacking) session.send(bytesFor(frame, session)!);
  }
}

/** Returns, by actor, the conversations that its lists may show differently; undefined: unknown. */
function changedByActor({ actors, conversations }: InboxChange): Map<string, Set<string> | undefined> {
  const changed = new Map(actors.map((id) => [id, conversations && new Set<string>()]));
  for (const { id, actors: places } of conversations ?? []) {
    for (const place of places) changed.get(actors[place] ?? '')?.add(id);
  }
  return changed;
}

/**
 * Returns what lists of the whole account may show differently; undefined: unknown. Direct messages
 * of others are in the audited list only.
 */
function listedByAll({ conversations, direct }: InboxChange): Set<string> | undefined {
  if (direct === undefined || conversations === undefined) return undefined;
  const listed = new Set(conversations.map(({ id }) => id));
  for (const id of direct) listed.delete(id);
  return listed;
}

const ROUND_EVERY_MS = 1_000;
/** How many times longer than its reads the loop rests. */
const REST = 3;
