import { derivedId } from '@parley/protocol/ids.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import { domainOf } from '../mailboxes/mailbox-address.ts';
import type { MailRow } from '../mails/mail-store.ts';
import type { WrittenMail } from './compose-mail.ts';
import { hexOf } from './message-ids.ts';
import { insertDue, type NewDueMail } from './outgoing-store.ts';

const LOOK_EVERY_MS = 30_000;
const DIGESTS_AT_ONCE = 500;

/** Returns the loop that makes the mails of digests, on every node. `onDue`: once some are due. */
export function openDigestMails(
  { database, config, log }: Pick<NodeParts, 'database' | 'config' | 'log'>,
  onDue: () => void,
): Loop {
  const loop = new Loop({
    intervalMs: LOOK_EVERY_MS,
    run: () => mailDigests(database, config.mailFrom, onDue),
    onError: (error) => log.warn({ err: error }, 'making mails of digests failed'),
  });
  loop.wake();
  return loop;
}

/**
 * Makes the missing mails of digests of unseen notifications (docs/contract.md#digests). A digest
 * has one mail, whose id is derived from the digest's, so two nodes make one. The mail has no text
 * until it is tried.
 */
export async function mailDigests(
  db: Db,
  from: NodeParts['config']['mailFrom'],
  onDue: () => void,
): Promise<void> {
  for (let found = DIGESTS_AT_ONCE; found === DIGESTS_AT_ONCE; ) {
    const digests = await db.query(READ_UNMAILED, DIGESTS_AT_ONCE);
    found = digests.length;
    if (found === 0) return;
    const mails = digests.map(({ id: digestId, account_id, actor_id, address }): NewDueMail => {
      const id = derivedId('mail', digestId);
      return {
        id,
        account_id,
        direction: 'out',
        purpose: 'digest',
        actor_id,
        rfc_id: `d.${hexOf(id)}@${domainOf(from.address)}`,
        status: 'queued',
        automatic: true,
        from_address: from.address,
        from_name: from.name,
        recipients: JSON.stringify([{ address, kind: 'to', status: 'queued', code: null }]),
      };
    });
    await insertDue(db, mails);
    onDue();
  }
}

/** Writes the mail of a digest to the user's address, about the notifications unseen by now. */
export async function writeDigest(database: Database, mail: MailRow): Promise<WrittenMail> {
  const digest = await database.hooks.first('digestOf')?.(database, mail.actor_id!);
  if (digest === undefined || derivedId('mail', digest.id) !== mail.id) return NOTHING_UNSEEN;
  const onEnd: WrittenMail['onEnd'] = (tx) => digest.settle(tx);
  const written = await digest.write();
  if (written === undefined) return { ...NOTHING_UNSEEN, onEnd };
  return { ...written, sender: mail.from_address!, attachments: [], onEnd };
}

const NOTHING_UNSEEN = { unsent: 'canceled', reason: 'nothing_unseen' } as const;

// Derives the id like derivedId (packages/protocol/ids.ts).
const READ_UNMAILED = statement<
  [limit: number],
  Record<'id' | 'actor_id' | 'account_id' | 'address', string>
>('read-unmailed-digests')`
    SELECT d.id, d.actor_id, u.account_id, u.email AS address
    FROM digests d JOIN users u ON u.id = d.actor_id
    WHERE NOT EXISTS (
      SELECT FROM mails m WHERE m.id = 'mai_' || left(encode(sha256(convert_to('mail ' || d.id, 'UTF8')), 'hex'), 24))
    ORDER BY d.created_at, d.id LIMIT $1`;
