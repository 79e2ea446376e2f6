import { invalid } from '@parley/protocol/errors/errors.ts';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import { ListOf } from '@parley/protocol/lists.ts';
import {
  COMPLETENESS_FACTS,
  ConversationCompleteness,
  ReplayWebhookBody,
  WebhookReplay,
} from '@parley/protocol/resources/webhook-delivery.ts';
import { defineList, PageQuery, readPage, toList } from '../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { presentAs } from '../../core/resources/present-as.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Completeness, Progress } from './completeness.ts';
import { type Replays, requestReplay } from './replays.ts';
import { findWebhook, lockEnabled } from './webhook-store.ts';

/**
 * Returns the routes for the proof of delivery and for replays (docs/contract.md#completeness), for
 * admins. Closed to agents.
 */
export function completenessRoutes(
  database: Database,
  completeness: Completeness,
  replays: Replays,
): Route[] {
  const common = { since: '1.2.harbor', agents: false } as const;
  return [
    defineRoute({
      ...common,
      name: 'get_webhook_completeness',
      method: 'GET',
      path: '/v1/webhooks/:id/completeness',
      summary: 'Get through which number the messages of each conversation were delivered',
      permission: 'webhooks:read',
      query: PageQuery({}),
      response: ListOf(ConversationCompleteness, COMPLETENESS_FACTS),
      async handle({ principal, params, query, url }) {
        const { id } = await findWebhook(database, principal.accountId, params.id!);
        const page = readPage(LIST, query, { webhook: id });
        const all_through = await completeness.allThrough(id);
        const rows = await completeness.page(id, page);
        return toList(rows, page, url, (row) => [row.conversation_id], present).with({ all_through });
      },
    }),
    defineRoute({
      ...common,
      name: 'replay_webhook',
      method: 'POST',
      path: '/v1/webhooks/:id/actions/replay',
      summary: 'Send the events since a time again, delivered or not; their ids stay',
      permission: 'webhooks:update',
      body: ReplayWebhookBody,
      response: WebhookReplay,
      rules({ body: { since } }) {
        if (Date.parse(since) > Date.now()) throw invalid('since', 'Must be a time that has passed.');
      },
      async change(tx, { principal, params, body: { since }, afterCommit }): Promise<WebhookReplay> {
        const sinceMs = Date.parse(since);
        const { id } = await lockEnabled(tx, principal.accountId, params.id!);
        const until = await requestReplay(tx, id, Math.max(sinceMs, 0) * 1_000);
        afterCommit(() => replays.wake());
        return { object: 'webhook_replay', webhook_id: id, since: wireTime(sinceMs), until };
      },
    }),
  ];
}

const LIST = defineList('webhook completeness', ['text']);

function present(progress: Progress): ConversationCompleteness {
  return presentAs(ConversationCompleteness, progress);
}
