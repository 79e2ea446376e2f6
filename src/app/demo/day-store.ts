import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/**
 * When a message was said: minutes before the transaction. `isSent`: it went out as a mail, which
 * has been sent.
 */
export interface DatedMessage {
  readonly id: string;
  readonly ago: number;
  readonly isSent: boolean;
}

/**
 * Sets the times of messages of this transaction back, with those of their files, reactions and
 * pins.
 */
export async function dateDay(tx: Tx, messages: readonly DatedMessage[]): Promise<void> {
  const ids = messages.map(({ id }) => id);
  await tx.query(
    DATE_MESSAGES,
    ids,
    messages.map(({ ago }) => ago),
    messages.map(({ isSent }) => (isSent ? 'sent' : null)),
  );
  for (const dated of [DATE_ATTACHMENTS, DATE_REACTIONS, DATE_PINS]) await tx.query(dated, ids);
}

const DATE_MESSAGES = statement<
  [ids: readonly string[], ago: readonly number[], mails: readonly (string | null)[]]
>({
  name: 'date-demo-messages',
  text: `
    UPDATE messages m SET created_at = d.at, updated_at = d.at, email_status = d.mail
    FROM (
      SELECT id, now() - make_interval(mins => ago) AS at, mail
      FROM unnest($1::text[], $2::integer[], $3::text[]) AS said(id, ago, mail)
    ) d WHERE m.id = d.id`,
});

const DATE_ATTACHMENTS = statement<[ids: readonly string[]]>({
  name: 'date-demo-attachments',
  text: `
    UPDATE attachments a SET created_at = m.created_at FROM messages m WHERE m.id = ANY($1) AND a.message_id = m.id`,
});

// Somebody reacts, or pins a message, a minute after it was said.
const DATE_REACTIONS = statement<[ids: readonly string[]]>({
  name: 'date-demo-reactions',
  text: `
    UPDATE reactions r SET created_at = m.created_at + interval '1 minute'
    FROM messages m WHERE m.id = ANY($1) AND r.message_id = m.id`,
});

const DATE_PINS = statement<[ids: readonly string[]]>({
  name: 'date-demo-pins',
  text: `
    UPDATE pins p SET pinned_at = m.created_at + interval '1 minute'
    FROM messages m WHERE m.id = ANY($1) AND p.message_id = m.id`,
});
