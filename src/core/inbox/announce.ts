import type { Engine } from '../../platform/engine/engine.ts';
import type { InboxChange } from '../../platform/engine/frame.ts';
import type { WrittenConversation } from './write-store.ts';

/** The channel on which nodes learn whose inbox changed (edge/gateway/inbox-updates.ts). */
export const INBOX_CHANNEL = 'inbox';

/**
 * Announces to every node whose inbox has changed, account by account. What is lost is announced by
 * the next change: the event that follows shows all of it.
 */
export function announceWritten(
  engine: Pick<Engine, 'publish'>,
  written: readonly WrittenConversation[],
): void {
  const ofAccounts = Map.groupBy(written, ({ account_id }) => account_id);
  for (const [accountId, conversations] of ofAccounts) {
    const change: InboxChange = {
      actors: [...new Set(conversations.flatMap(({ actor_ids }) => actor_ids))],
      large: conversations.flatMap(({ id, is_large }) => (is_large === true ? id : [])),
    };
    engine
      .publish(INBOX_CHANNEL, { kind: 'inbox_changed', accountId: accountId ?? '', change })
      .catch(() => {});
  }
}
