import type { List } from '@parley/protocol/lists.ts';
import type { Presence, PresenceStatus } from '@parley/protocol/resources/activity.ts';
import type { ActorPresence } from '@parley/protocol/resources/person.ts';
import { ReadLoop } from '../lists/read-loop.ts';
import { readSome } from '../lists/read-some.ts';
import type { FollowHost } from '../live/follow-host.ts';
import { Gaps } from '../live/gaps.ts';
import type { LoadedPart, PartOwner } from '../live/loaded-object.ts';
import { queryOf } from '../rest/pages.ts';
import type { PresenceSnapshot } from './presence-snapshot.ts';

interface View {
  readonly ids: readonly string[];
  readonly set: PartOwner<PresenceSnapshot>['set'];
  /** The shown state, to skip equal updates. */
  shown: string;
}

/**
 * The presence of all users that the objects of a client follow, requested together. Presence is an
 * event of the conversations that the client is subscribed to; for other users it is requested
 * again from time to time.
 */
export class PresenceTracker {
  readonly #host: FollowHost;
  readonly #known = new Map<string, PresenceStatus>();
  readonly #views = new Set<View>();
  readonly #reads: ReadLoop;
  /** Ids that were read, also those that name no user. */
  readonly #read = new Set<string>();
  readonly #unread = new Set<string>();
  /** Ids of events since the request that is being answered: the answer may be older. */
  readonly #heard = new Set<string>();
  readonly #gaps: Gaps;
  #stopAgain: (() => void) | undefined;

  constructor(host: FollowHost) {
    this.#host = host;
    this.#reads = new ReadLoop({
      timing: host.timing,
      restMs: REST_MS,
      read: () => readSome(this.#unread, (ids) => this.#ask(ids)),
      failed: (error) => {
        for (const { ids, set } of this.#views) {
          set(ids.every((id) => this.#read.has(id)) ? { error } : { status: 'error', error });
        }
      },
    });
    this.#gaps = new Gaps(host, () => this.#readAll());
    host.onFrame(({ event, data }) => {
      if (event !== 'presence') return;
      const { actor_id: id, status } = data as Presence;
      this.#known.set(id, status);
      this.#heard.add(id);
      for (const view of this.#views) if (view.ids.includes(id)) this.#show(view);
    });
  }

  /** Keeps the snapshot of one object up to date until the returned part is closed. */
  follow(ids: readonly string[], set: PartOwner<PresenceSnapshot>['set']): LoadedPart<PresenceSnapshot> {
    // Nothing was read again while no object was open.
    if (this.#views.size === 0) for (const seen of [this.#known, this.#read]) seen.clear();
    const view: View = { ids, set, shown: '' };
    this.#views.add(view);
    for (const id of ids) if (!this.#read.has(id)) this.#unread.add(id);
    this.#show(view);
    if (this.#unread.size > 0) this.#reads.wake();
    return {
      close: () => {
        this.#views.delete(view);
        if (this.#views.size === 0) this.#unread.clear();
      },
    };
  }

  #readAll(): void {
    for (const { ids } of this.#views) for (const id of ids) this.#unread.add(id);
    if (this.#unread.size > 0) this.#reads.wake();
  }

  async #ask(ids: readonly string[]): Promise<void> {
    this.#gaps.readBegan();
    this.#heard.clear();
    const path = `/v1/messaging/presence${queryOf({ actor_ids: ids })}`;
    const { data } = await this.#host.fetch<List<ActorPresence>>(path);
    for (const id of ids) {
      this.#unread.delete(id);
      this.#read.add(id);
      if (!this.#heard.has(id)) this.#known.delete(id);
    }
    for (const { actor_id, status } of data)
      if (!this.#heard.has(actor_id)) this.#known.set(actor_id, status);
    for (const view of this.#views) this.#show(view);
    this.#stopAgain?.();
    this.#stopAgain = this.#host.timing.after(AGAIN_MS, () => this.#readAll());
  }

  #show(view: View): void {
    const { ids, set } = view;
    if (!ids.every((id) => this.#read.has(id))) return;
    const known = ids.flatMap((id) => {
      const status = this.#known.get(id);
      return status === undefined ? [] : [[id, status] as const];
    });
    const shown = JSON.stringify(known);
    if (shown === view.shown) set({ status: 'ready', error: null });
    else set({ status: 'ready', error: null, presence: new Map(known) });
    view.shown = shown;
  }
}

const REST_MS = 1_000;
/** The time after which the server calls a user with a lost connection offline. */
const AGAIN_MS = 30_000;
