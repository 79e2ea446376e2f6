import type { Engine, Subscription } from '../../platform/engine/engine.ts';
import { Loop } from '../../platform/lifecycle.ts';

/** The subject that stands for all subjects: listeners then read everything again. */
export const EVERYTHING = '*';

/** Says that a right changed: its cached values are read again. */
export interface RightsChangedFrame {
  readonly kind: 'rights_changed';
  /** Id of the subject on which the right depends, or `EVERYTHING`. */
  readonly subject: string;
}

/** The engine also carries frames of others, each of another kind. */
type Carrier = Engine<{ readonly kind: string }>;

/** Gets the id of a right's subject (a key, an actor, a role …), or `EVERYTHING`. */
export type RightsListener = (subject: string) => void;

/**
 * Announces changes of rights (docs/architecture.md#rights-that-end) after their commits; no other
 * class does. Every node listens to one engine channel from its start, so a right that is read
 * through this class is never read before listening began.
 */
export class Rights {
  readonly #engine: Carrier;
  readonly #listeners = new Set<RightsListener>();
  /** Announcements that other nodes have not received yet, because the link was away. */
  readonly #unsent = new Set<string>();
  readonly #retry: Loop;
  #subscription: Subscription | undefined;
  #unregister: (() => void) | undefined;

  /** Begins to listen. */
  static async open(engine: Carrier): Promise<Rights> {
    const rights = new Rights(engine);
    rights.#subscription = await engine.subscribe(CHANNEL, (frame) => {
      if (isRightsChanged(frame)) rights.#notifyListeners(frame.subject);
    });
    rights.#unregister = engine.onMissed(({ reason, channels }) => {
      // While a link is away, `maxAgeMs` is short enough.
      if (reason === 'away' || channels?.has(CHANNEL) === false) return;
      rights.#notifyListeners(EVERYTHING);
      rights.#retry.wake();
    });
    return rights;
  }

  /** Use `Rights.open`. */
  private constructor(engine: Carrier) {
    this.#engine = engine;
    this.#retry = new Loop({
      intervalMs: RETRY_MS,
      run: () => this.#announceUnsent(),
      // Nothing in a round throws: announcements that fail remain in the set.
      onError: () => {},
    });
  }

  /** Whether an announcement of this node or of another may fail to arrive. */
  get inDoubt(): boolean {
    return this.#engine.shardOf(CHANNEL).inDoubt;
  }

  /**
   * Milliseconds for which a right may be used without reading it again: one second while
   * announcements are in doubt.
   */
  get maxAgeMs(): number {
    return this.inDoubt ? IN_DOUBT_MAX_AGE_MS : MAX_AGE_MS;
  }

  /**
   * Announces to every node that the right of `subject` changed; on this node before it returns.
   * Never rejects: while the link is away it resolves within a second, and the announcement is
   * repeated until it arrives. The change is committed, and nodes with a sound link would not look.
   */
  async announce(subject: string): Promise<void> {
    try {
      const frame: RightsChangedFrame = { kind: 'rights_changed', subject };
      await this.#engine.publish(CHANNEL, frame);
    } catch {
      if (this.#unsent.size < MAX_UNSENT) {
        this.#unsent.add(subject);
      } else {
        this.#unsent.clear();
        this.#unsent.add(EVERYTHING);
      }
    }
  }

  /**
   * Calls `listener` synchronously with each subject that changed, and with `EVERYTHING` when
   * frames may have been lost. Call order is registration order: caches first, then the code that
   * reads through them. Listeners must not throw. Returns a function that removes the listener.
   */
  onChange(listener: RightsListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  async close(): Promise<void> {
    this.#unregister?.();
    this.#subscription?.unsubscribe();
    this.#listeners.clear();
    await this.#retry.close();
  }

  #notifyListeners(subject: string): void {
    for (const listener of this.#listeners) listener(subject);
  }

  async #announceUnsent(): Promise<void> {
    const subjects = [...this.#unsent];
    this.#unsent.clear();
    await Promise.all(subjects.map((subject) => this.announce(subject)));
  }
}

function isRightsChanged(frame: { readonly kind: string }): frame is RightsChangedFrame {
  return frame.kind === 'rights_changed';
}

const CHANNEL = 'rights';
const MAX_AGE_MS = 30_000;
const IN_DOUBT_MAX_AGE_MS = 1_000;
const RETRY_MS = 500;
/** Above this number, reading everything again is cheaper for the other nodes. */
const MAX_UNSENT = 1_000;
