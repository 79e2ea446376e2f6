import type { Kysely, Transaction } from 'kysely';
import type { Principal } from '../access/principal.ts';
import type { Downloads } from '../attachments/storage.ts';
import type { MessageRow } from '../conversations/message-rows.ts';
import type { Schema } from '../db/schema.ts';
import { type Queries, queriesOf } from '../db/statement.ts';
import type { MessageInclude } from '../protocol/resources/chat-message.ts';
import { showMessage } from './expand.ts';

/**
 * Makes the caller's answer of a message. With `tx`: inside the transaction that made it true, where an
 * Idempotency-Key has its answer stored.
 */
export type Answering = (row: MessageRow, tx?: Transaction<Schema>) => Promise<object>;

/** Who asked, as far as the answer depends on it: a Call of http/route.ts is one. */
export interface Caller {
  readonly principal: Principal;
  readonly remember: ((tx: Kysely<Schema>, reply: object) => Promise<object>) | undefined;
}

export function answering(
  database: Queries,
  files: Downloads,
  { principal, remember }: Caller,
  include: readonly MessageInclude[] = [],
): Answering {
  return async (row, tx) => {
    if (tx === undefined) return showMessage(database, files, principal, row, include);
    const message = await showMessage(queriesOf(tx), files, principal, row, include);
    return remember === undefined ? message : remember(tx, message);
  };
}
