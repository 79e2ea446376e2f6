import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

/**
 * Notes that a customer has an address, by a proof: a link or a code of a mail, a mail from it, or
 * a token of the application. The last proof counts. Addresses that somebody has merely typed, the
 * team included, are not proven
 * (src/features/mail/DECISIONS.md#unread-answers-go-to-a-proven-address).
 */
export async function proveAddress(tx: Tx, customerId: string, address: string): Promise<void> {
  await tx.query(PROVE, customerId, address);
}

const PROVE = statement<[id: string, address: string]>('prove-address-of-customer')`
    UPDATE actors SET proven_address = $2
    WHERE id = $1 AND customer AND erased_at IS NULL AND proven_address IS DISTINCT FROM $2`;
