import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { audit } from './audit.ts';
import { type AuditHandover, type AuditHead, HANDED_OVER, hashHandover, NOTHING_SEALED } from './chain.ts';
import { ChainKeys } from './chain-keys.ts';
import { type ChainEnd, lockChain, readHandovers, saveHead } from './chain-store.ts';
import { requireOwnHead, sealRows } from './sealer.ts';
import type { Signed, SigningKey } from './signing-key.ts';

export interface HandoverOptions {
  readonly accountId: string;
  /** The chain of the former installation, which seals nothing more. */
  readonly chain: ChainEnd;
  readonly former: SigningKey;
  readonly next: SigningKey;
  /** The public URLs of the installations. */
  readonly fromCell: string;
  readonly toCell: string;
}

export interface HandedOver {
  readonly handover: AuditHandover;
  /** The same link as in the head of the former installation, signed by the new key. */
  readonly head: Signed<AuditHead>;
}

/**
 * Hands the chain of an account over to another installation. A chain without links is handed over
 * at number 0, so that its empty head leads to the new key too. Throws if the former installation
 * has not signed the head.
 */
export function handOver({ accountId, chain, former, next, ...cells }: HandoverOptions): HandedOver {
  requireOwnHead(chain.head, accountId, former.trusted);
  const { number, hash } = chain.head ?? NOTHING_SEALED;
  const end = { account_id: accountId, number, hash, signed_at: chain.now };
  const content = {
    object: 'audit_handover',
    ...end,
    from_key_id: former.id,
    from_public_key: former.publicKey,
    from_old_public_keys: former.trusted.publicKeys.filter((key) => key !== former.publicKey),
    to_key_id: next.id,
    to_public_key: next.publicKey,
    from_cell: cells.fromCell,
    to_cell: cells.toCell,
  } as const;
  const signatures = [former.sign(content).signature, next.sign(content).signature] as const;
  return { handover: { ...content, signatures }, head: next.sign({ object: 'audit_head', ...end } as const) };
}

/**
 * Stores a hand-over at the new installation, behind the rows of the chain and earlier hand-overs,
 * and seals an event that names it, so that it cannot be cut out. Holds the lock of the chain until
 * the transaction ends, so it is called last. Rejects if the local chain is not the one handed
 * over, or if this installation could not verify it.
 */
export async function saveHandover(
  tx: Tx,
  next: SigningKey,
  { handover, head }: HandedOver,
): Promise<Signed<AuditHead>> {
  const { account_id: accountId, number, hash, from_cell, to_cell } = handover;
  const chain = await lockChain(tx, accountId, { wait: true });
  const here = chain?.head ?? NOTHING_SEALED;
  if (here.number !== number || here.hash !== hash) {
    throw new Error(
      `the audit here ends with link ${here.number}, and is not the one that was handed over at link ${number}`,
    );
  }
  const keys = new ChainKeys(next.trusted, accountId, [...(await readHandovers(tx, accountId)), handover]);
  if (keys.verify(head, number) !== 'valid') throw new Error('the head is not the one of the hand-over');
  await tx.query(SAVE_HANDOVER, accountId, number, handover);
  await saveHead(tx, accountId, head);
  const details = { from_cell, to_cell, handover: hashHandover(handover) };
  await audit(tx, { accountId, action: HANDED_OVER, details });
  // Seals every pending row, since the event comes last.
  for (let sealed = head; ; ) {
    const end = await sealRows(tx, next, accountId);
    if (end?.head === undefined) return sealed;
    sealed = end.head;
  }
}

const SAVE_HANDOVER = statement<[accountId: string, number: number, handover: object]>('audit-save-handover')`
    INSERT INTO audit_handovers (account_id, number, handover) VALUES ($1, $2, $3::jsonb)`;
