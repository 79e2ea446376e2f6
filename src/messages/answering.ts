import type { Principal } from '../access/principal.ts';
import type { Downloads } from '../attachments/storage.ts';
import type { MessageRow } from '../conversations/message-rows.ts';
import type { Db, Tx } from '../db/handle.ts';
import type { MessageInclude } from '../protocol/resources/chat-message.ts';
import { showMessage } from './expand.ts';

/**
 * Makes the caller's answer of a message. With `tx`: inside the transaction that made it true, where an
 * Idempotency-Key has its answer stored.
 */
export type Answering = (row: MessageRow, tx?: Tx) => Promise<object>;

/** Who asked, as far as the answer depends on it: a Call of http/route.ts is one. */
export interface Caller {
  readonly principal: Principal;
  readonly remember: ((tx: Tx, reply: object) => Promise<object>) | undefined;
}

export function answering(
  db: Db,
  files: Downloads,
  { principal, remember }: Caller,
  include: readonly MessageInclude[] = [],
): Answering {
  return async (row, tx) => {
    if (tx === undefined) return showMessage(db, files, principal, row, include);
    const message = await showMessage(tx, files, principal, row, include);
    return remember === undefined ? message : remember(tx, message);
  };
}
