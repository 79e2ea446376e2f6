import { derivedId } from '../../../contract/protocol/ids.ts';
import { provided } from '../../../core/features/installed.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import type { Logger } from '../../../platform/log.ts';
import type { MailRow } from '../mail-store.ts';
import { domainOf } from '../mailboxes/mailbox-address.ts';
import { hexOf } from './message-ids.ts';
import type { WrittenMail } from './written-mail.ts';

export interface DigestMailsOptions {
  readonly database: Database;
  /** `PARLEY_MAIL_FROM`. */
  readonly from: { readonly name: string | null; readonly address: string };
  /** Called once mails are due. */
  readonly onDue: () => void;
  readonly log: Logger;
}

const LOOK_EVERY_MS = 30_000;
const DIGESTS_AT_ONCE = 500;

/**
 * Sends digests of unseen notifications (docs/contract.md#digests). Every node looks. A digest has
 * one mail, whose id is derived from the digest's, so two nodes make one. The mail has no text
 * until it is tried.
 */
export class DigestMails {
  readonly #options: DigestMailsOptions;
  readonly #loop: Loop;

  constructor(options: DigestMailsOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: LOOK_EVERY_MS,
      run: () => this.look(),
      onError: (error) => options.log.warn({ err: error }, 'making mails of digests failed'),
    });
    this.#loop.wake();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  /** Makes the missing mails of digests. */
  async look(): Promise<void> {
    const { database, from, onDue } = this.#options;
    for (let found = DIGESTS_AT_ONCE; found === DIGESTS_AT_ONCE; ) {
      const digests = await database.query(READ_UNMAILED, DIGESTS_AT_ONCE);
      found = digests.length;
      if (found === 0) return;
      const mails = digests.map(({ id, ...digest }) => {
        const mailId = derivedId('mail', id);
        return { ...digest, id: mailId, rfc_id: `d.${hexOf(mailId)}@${domainOf(from.address)}` };
      });
      await database.query(INSERT, JSON.stringify(mails), from.address, from.name);
      onDue();
    }
  }
}

/** Writes the mail of a digest, to the user's address, about what is unseen now. */
export async function writeDigest(database: Database, mail: MailRow): Promise<WrittenMail> {
  const digest = await provided('digestOf')?.(database, mail.actor_id!);
  if (digest === undefined || derivedId('mail', digest.id) !== mail.id) return NOTHING_UNSEEN;
  const onEnd: WrittenMail['onEnd'] = (tx) => digest.settle(tx);
  const written = await digest.write();
  if (written === undefined) return { ...NOTHING_UNSEEN, onEnd };
  return {
    sender: mail.from_address!,
    onEnd,
    content: {
      ...written,
      rfcId: mail.rfc_id,
      date: mail.created_at,
      from: { name: mail.from_name, address: mail.from_address! },
      to: mail.recipients.map(({ address }) => address),
      cc: [],
      inReplyTo: null,
      references: [],
      attachments: [],
      autoSubmitted: 'auto-generated',
    },
  };
}

const NOTHING_UNSEEN = { unsent: 'canceled', reason: 'nothing_unseen' } as const;

interface UnmailedDigest {
  readonly id: string;
  readonly actor_id: string;
  readonly account_id: string;
  readonly address: string;
}

// Derives the id like derivedId (contract/protocol/ids.ts).
const READ_UNMAILED = statement<[limit: number], UnmailedDigest>('read-unmailed-digests')`
    SELECT d.id, d.actor_id, u.account_id, u.email AS address
    FROM digests d JOIN users u ON u.id = d.actor_id
    WHERE NOT EXISTS (
      SELECT FROM mails m WHERE m.id = 'mai_' || left(encode(sha256(convert_to('mail ' || d.id, 'UTF8')), 'hex'), 24))
    ORDER BY d.created_at, d.id LIMIT $1`;

const INSERT = statement<[mails: string, fromAddress: string, fromName: string | null]>(
  'insert-digest-mails',
)`
    INSERT INTO mails (id, account_id, direction, purpose, actor_id, rfc_id, status, automatic, from_address, from_name,
      recipients, next_try_at)
    SELECT n.id, n.account_id, 'out', 'digest', n.actor_id, n.rfc_id, 'queued', true, $2, $3,
      jsonb_build_array(jsonb_build_object('address', n.address, 'kind', 'to', 'status', 'queued', 'code', NULL)),
      clock_timestamp()
    FROM json_to_recordset($1::json) AS n(id text, account_id text, actor_id text, rfc_id text, address text)
    ON CONFLICT DO NOTHING`;
