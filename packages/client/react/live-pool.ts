import type { Client } from '../client.ts';
import type { LiveObject } from '../live/live-object.ts';

/** The part of a live object that the hooks use. */
export type Live<Snapshot extends object = object> = Pick<LiveObject<Snapshot>, 'snapshot' | 'on'>;

/** A live object and its release. */
export interface Opened<Object extends Live = Live> {
  readonly live: Object;
  readonly close: () => void;
  /** Milliseconds for which it stays open without a component; 1,000 by default. */
  readonly keptMs?: number;
}

interface Entry extends Opened {
  users: number;
  /** Called when it has ended and may be opened again. */
  readonly renewals: Set<() => void>;
  closing: ReturnType<typeof setTimeout> | undefined;
}

/**
 * The live objects that components of one client show, each opened once for all of them. An unused
 * object is closed a moment later: StrictMode unmounts each component once to test it, and a page's
 * next view often shows the same objects.
 */
export class LivePool {
  readonly #entries = new Map<string, Entry>();

  /** Use `of`. */
  constructor(client: Pick<Client, 'on'>) {
    client.on('conversation.added', ({ id }) => this.#renew(id));
    client.on('stale', () => this.#renew(''));
  }

  /** Returns the pool of a client, which exists as long as the client does. */
  static of(client: Client): LivePool {
    const pool = POOLS.get(client) ?? new LivePool(client);
    POOLS.set(client, pool);
    return pool;
  }

  /** Returns the object if it is open. */
  peek(key: string): Live | undefined {
    return this.#entries.get(key)?.live;
  }

  /**
   * Opens the object unless it is open; an ended object is opened again by the next component, such
   * as that of a restored conversation. `close` of the result releases it; `renewed` is called when
   * that is due, because another object would be opened now.
   */
  acquire<Object extends Live>(
    key: string,
    open: () => Opened<Object>,
    renewed: () => void = () => {},
  ): Opened<Object> {
    const known = this.#entries.get(key);
    const isUsable = known !== undefined && !(known.users === 0 && hasEnded(known.live));
    const entry = isUsable
      ? known
      : { ...open(), users: 0, renewals: new Set<() => void>(), closing: undefined };
    this.#entries.set(key, entry);
    entry.users += 1;
    entry.renewals.add(renewed);
    clearTimeout(entry.closing);
    let isGivenUp = false;
    return {
      live: entry.live as Object,
      close: () => {
        if (isGivenUp) return;
        isGivenUp = true;
        entry.renewals.delete(renewed);
        this.#release(key, entry);
      },
    };
  }

  /** Renews a conversation after its restoration or a new membership. */
  #renew(conversationId: string): void {
    for (const [key, entry] of [...this.#entries]) {
      if (!key.includes(conversationId) || !hasEnded(entry.live)) continue;
      this.#entries.delete(key);
      for (const renewed of [...entry.renewals]) renewed();
    }
  }

  #release(key: string, entry: Entry): void {
    entry.users -= 1;
    if (entry.users > 0) return;
    entry.closing = setTimeout(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      entry.close();
    }, entry.keptMs ?? KEPT_MS);
  }
}

function hasEnded({ snapshot }: Live): boolean {
  return (snapshot as { readonly status?: unknown }).status === 'ended';
}

const POOLS = new WeakMap<Client, LivePool>();
const KEPT_MS = 1_000;
