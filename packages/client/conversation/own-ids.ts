import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { ParleyError } from '../errors/parley-error.ts';
import type { ConversationSubscription, SubscribeOptions } from '../events/client-events.ts';
import type { Timing } from '../timing/timing.ts';
import { untilAnswered } from '../timing/until-answered.ts';

/**
 * The ids behind the names `ext:…` by which an application calls its conversations. Each name is
 * looked up once, so that a conversation is one whatever it is called.
 */
export class OwnIds {
  readonly #get: (name: string) => Promise<Conversation>;
  readonly #timing: Pick<Timing, 'after'>;
  /** By name; a promise while it is looked up. */
  readonly #ids = new Map<string, string | Promise<string>>();

  constructor(get: (name: string) => Promise<Conversation>, timing: Pick<Timing, 'after'>) {
    this.#get = get;
    this.#timing = timing;
  }

  /** Returns the id, also of what is no own name; undefined for a name to be looked up. */
  known(name: string): string | undefined {
    const id = name.startsWith('ext:') ? this.#ids.get(name) : name;
    return typeof id === 'string' ? id : undefined;
  }

  /** Looks the name up, again while that may help. Rejects as Client.fetch does. */
  async find(name: string): Promise<string> {
    const known = this.known(name) ?? this.#ids.get(name);
    if (known !== undefined) return known;
    const asked = untilAnswered(
      async () => (await this.#get(name)).id,
      (again) => this.#timing.after(AGAIN_MS, again),
    );
    this.#ids.set(name, asked);
    try {
      const id = await asked;
      this.#ids.set(name, id);
      return id;
    } catch (error) {
      this.#ids.delete(name);
      throw error;
    }
  }

  /**
   * Returns a subscription that begins with `begin` once the id is known, or ends as a refused one.
   */
  follow(
    name: string,
    { onEnd }: Pick<SubscribeOptions, 'onEnd'>,
    begin: (id: string) => ConversationSubscription,
  ): ConversationSubscription {
    let followed: ConversationSubscription | undefined;
    let isOver = false;
    this.find(name).then(
      (id) => {
        if (!isOver) followed = begin(id);
      },
      ({ error }: ParleyError) => {
        if (!isOver && error !== null) onEnd?.(error);
      },
    );
    return {
      get conversationId() {
        return followed?.conversationId ?? name;
      },
      get completeThrough() {
        return followed?.completeThrough ?? 0;
      },
      unsubscribe: () => {
        isOver = true;
        followed?.unsubscribe();
      },
    };
  }
}

const AGAIN_MS = 1_000;
