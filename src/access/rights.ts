import { setTimeout as delay } from 'node:timers/promises';
import { type Engine, EngineUnavailableError, type Subscription } from '../engine/engine.ts';
import { Loop } from '../lifecycle.ts';

/** The subject that stands for all of them: whoever listens reads everything again. */
export const EVERYTHING = '*';

/** The id of what a right hangs on: a key, an actor, a role, an account or a conversation; or `EVERYTHING`. */
export type RightsListener = (subject: string) => void;

/**
 * The one place that says "a right changed" (docs/architecture.md#rights-that-end). Every node listens to
 * one engine channel from its start on, so whoever reads a right through here has been listening
 * before it read. Who changes a right announces it after the commit.
 */
export class Rights {
  readonly #engine: Engine;
  readonly #listeners = new Set<RightsListener>();
  /** What the other nodes have not been told yet, because the link was away. */
  readonly #untold = new Set<string>();
  readonly #retry: Loop;
  #subscription: Subscription | undefined;
  #unregister: (() => void) | undefined;

  /**
   * Listens from here on. A link that is lost at that moment, as a busy machine loses one while it starts, is waited
   * for; rejects with EngineUnavailableError where it stays away.
   */
  static async open(engine: Engine): Promise<Rights> {
    const rights = new Rights(engine);
    try {
      rights.#subscription = await rights.#listen();
    } catch (error) {
      await rights.#retry.close();
      throw error;
    }
    rights.#unregister = engine.onMissed(({ channels }) => {
      if (channels?.has(CHANNEL) === false) return;
      rights.#notifyListeners(EVERYTHING);
      rights.#retry.wake();
    });
    return rights;
  }

  /** Use `Rights.open`. */
  private constructor(engine: Engine) {
    this.#engine = engine;
    this.#retry = new Loop({
      intervalMs: RETRY_MS,
      run: () => this.#announceUntold(),
      // Nothing in a round throws: what fails stays untold.
      onError: () => {},
    });
  }

  /**
   * How long, in milliseconds, a right that was read may be used without reading it again. While the
   * link is in doubt a change may never arrive here, so what is cached lives no longer than a second.
   */
  get maxAgeMs(): number {
    return this.#engine.healthy ? HEALTHY_MAX_AGE_MS : UNHEALTHY_MAX_AGE_MS;
  }

  /**
   * Says on every node that the right of `subject` changed; on this one before it returns. Never
   * rejects: while the link is away it resolves within a second and is told again until it arrives,
   * since the change is committed and nodes whose own link is whole would not look for it.
   */
  async announce(subject: string): Promise<void> {
    try {
      await this.#engine.publish(CHANNEL, { kind: 'rights_changed', subject });
    } catch {
      if (this.#untold.size < MAX_UNTOLD) {
        this.#untold.add(subject);
      } else {
        this.#untold.clear();
        this.#untold.add(EVERYTHING);
      }
    }
  }

  /**
   * Calls `listener`, synchronously, with each subject that changed; with `EVERYTHING` when frames may
   * have been lost. Listeners are called in the order in which they were added: caches first, then
   * who reads through them. They must not throw. Returns what unregisters.
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

  async #listen(): Promise<Subscription> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await this.#engine.subscribe(CHANNEL, (frame) => {
          if (frame.kind === 'rights_changed') this.#notifyListeners(frame.subject);
        });
      } catch (error) {
        if (!(error instanceof EngineUnavailableError) || performance.now() > deadlineMs) throw error;
      }
      await delay(AGAIN_MS);
    }
  }

  #notifyListeners(subject: string): void {
    for (const listener of this.#listeners) listener(subject);
  }

  async #announceUntold(): Promise<void> {
    const subjects = [...this.#untold];
    this.#untold.clear();
    await Promise.all(subjects.map((subject) => this.announce(subject)));
  }
}

const CHANNEL = 'rights';
const HEALTHY_MAX_AGE_MS = 30_000;
const UNHEALTHY_MAX_AGE_MS = 1_000;
const RETRY_MS = 500;
const PATIENCE_MS = 10_000;
const AGAIN_MS = 100;
/** Past this many it is cheaper for the other nodes to read everything again. */
const MAX_UNTOLD = 1_000;
