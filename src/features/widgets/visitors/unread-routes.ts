import { previewOf } from '@parley/markdown/message-text.ts';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { UnreadAnswers } from '@parley/protocol/resources/widget.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { isUnreadAnswer } from '../../../core/messages/reading/unread-answers.ts';
import type { MessageRow } from '../../../core/resources/message.ts';
import { presentAs } from '../../../core/resources/present-as.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { findWidget } from '../widgets/widget-store.ts';

/** Returns the route that the launcher of a widget asks on each page (docs/contract.md#widgets). */
export function unreadRoutes(database: Database): Route[] {
  return [
    defineRoute({
      since: '1.4.harbor',
      permission: null,
      agents: false,
      customers: true,
      name: 'get_unread_answers',
      method: 'GET',
      path: '/v1/widgets/:id/visitors/unread-answers',
      summary: 'Count what waits unread for the calling customer, with the first words of the newest answer',
      response: UnreadAnswers,
      async handle({ principal, params }) {
        await findWidget(database, principal.accountId, params.id!);
        if (!principal.customer)
          throw new ApiError('insufficient_permissions', 'Only a customer has answers that wait for it.');
        const [row] = await database.query(READ, principal.actor.id);
        return presentAs(UnreadAnswers, {
          unread: row?.unread ?? 0,
          newest: row === undefined ? null : shown(row),
        });
      },
    }),
  ];
}

interface UnreadRow extends Pick<MessageRow, 'conversation_id' | 'body' | 'kind'> {
  readonly unread: number;
  readonly message_id: string;
  readonly sender_name: string | null;
  readonly created_at: string;
}

function shown({ unread: _, body, kind, ...answer }: UnreadRow) {
  return { ...answer, text: previewOf({ kind, body }) };
}

const READ = statement<[customerId: string], UnreadRow>('read-unread-answers-of-customer')`
    SELECT count(*) OVER ()::integer AS unread, p.conversation_id, m.id AS message_id, s.name AS sender_name,
      m.body, m.kind, coalesce((m.outcome ->> 'at')::timestamptz, m.created_at) AS created_at
    FROM participants p JOIN conversations c ON c.id = p.conversation_id AND c.deleted_at IS NULL
      CROSS JOIN LATERAL (
        SELECT * FROM messages m
        WHERE m.conversation_id = p.conversation_id AND ${isUnreadAnswer('m', 'p.actor_id', 'p.read_sequence')}
        ORDER BY m.sequence DESC LIMIT 1
      ) m
      LEFT JOIN actors s ON s.id = m.sender_id
    WHERE p.actor_id = $1 AND p.membership = 'active'
    ORDER BY created_at DESC LIMIT 1`;
