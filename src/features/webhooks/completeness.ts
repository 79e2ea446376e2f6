import { CONVERSATION_CREATED } from '../../core/conversations/outbox-topics.ts';
import { RESOURCES_CHANGED } from '../../core/events/changes.ts';
import { installed } from '../../core/features/installed.ts';
import { MESSAGES_SENT } from '../../core/messages/outbox-topics.ts';
import type { Timeline } from '../../core/messages/timeline/timeline.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { KeysetPage } from '../../platform/db/connection/keyset.ts';
import type { Logger } from '../../platform/log.ts';
import { type Progress, prove, proveAll, readListed } from './completeness-store.ts';

const CORE_TOPICS = [MESSAGES_SENT, RESOURCES_CHANGED, CONVERSATION_CREATED].map(({ name }) => name);

export interface CompletenessOptions {
  readonly database: Database;
  readonly timeline: Pick<Timeline, 'settle'>;
  readonly log: Logger;
}

/**
 * Proves that a receiver missed nothing (docs/decisions.md#completeness-is-proven-when-asked). The
 * proven part is stored, so a request examines only newer events.
 */
export class Completeness {
  readonly #options: CompletenessOptions;

  constructor(options: CompletenessOptions) {
    this.#options = options;
  }

  /** Returns the time before which every event was delivered. */
  allThrough(webhookId: string): Promise<string> {
    const topics = [...CORE_TOPICS, ...installed().flatMap(({ eventTopics = [] }) => eventTopics)];
    return proveAll(this.#options.database, webhookId, topics);
  }

  /**
   * Returns a page of the conversations of which the webhook was sent messages, in its direction.
   */
  async page(webhookId: string, page: KeysetPage): Promise<Progress[]> {
    const { database } = this.#options;
    const ids = await readListed(database, webhookId, page);
    const progress = new Map(
      (await prove(database, webhookId, ids)).map((row) => [row.conversation_id, row]),
    );
    const found = ids.flatMap((id) => progress.get(id) ?? []);
    this.#settle(found);
    return found;
  }

  /**
   * Settles sequences that are neither a message nor a void, such as those of a node that died,
   * because perhaps nobody else reads the conversation. The next request finds them settled.
   */
  #settle(progress: readonly Progress[]): void {
    const { timeline, log } = this.#options;
    for (const { conversation_id: conversationId, settled, head } of progress) {
      if (settled >= head) continue;
      timeline.settle({ conversationId, after: settled, upTo: head }).catch((error: unknown) => {
        log.warn({ err: error, conversation_id: conversationId }, 'could not settle sequence numbers');
      });
    }
  }
}
