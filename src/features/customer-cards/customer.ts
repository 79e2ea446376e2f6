import { notFound } from '@parley/protocol/errors/errors.ts';
import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import { IS_MEMBER } from '../../core/resources/membership.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/** What a source is sent of a customer. */
export interface AskedCustomer {
  readonly customer_id: string;
  readonly external_id: string | null;
  readonly name: string | null;
  readonly email: string | null;
  readonly metadata: Metadata;
}

/**
 * Returns the customer behind a participant of a conversation. Throws `resource_not_found` (param
 * participant_id), also for other participants, and for those that have left or were erased.
 */
export async function customerBehind(
  db: Db,
  conversationId: string,
  participantId: string,
): Promise<AskedCustomer> {
  const [row] = await db.query(READ, conversationId, participantId);
  if (row === undefined) throw notFound('participant', 'participant_id');
  return { ...row, metadata: row.metadata ?? {} };
}

type Row = Omit<AskedCustomer, 'metadata'> & { readonly metadata: Metadata | null };

const READ = statement<[conversationId: string, participantId: string], Row>('read-customer-of-card')`
    SELECT a.id AS customer_id, a.external_id, a.name, a.handle AS email, a.metadata
    FROM participants p JOIN actors a ON a.id = p.actor_id
    WHERE p.conversation_id = $1 AND p.id = $2 AND p.type = 'customer' AND p.${IS_MEMBER}
      AND a.erased_at IS NULL`;
