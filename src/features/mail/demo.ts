import { sql } from 'kysely';
import { CUSTOMER_SERVICE } from '../../core/accounts/groups/groups.ts';
import type { Entries } from '../../platform/hooks.ts';
import { insertMailbox } from './mailboxes/mailbox-store.ts';
import { updateThread } from './mails/thread-store.ts';

/** The mails of the demo account. */
export const demo: Entries = {
  demoInbox: insertMailbox,
  demoMail: async (tx, { id, message, inbox, customer, subject, text, html, minutesAgo }) => {
    const isIn = html !== null;
    // A time before the transaction, which is when the mail is written.
    const at = sql<string>`now() - make_interval(secs => ${minutesAgo * 60})`;
    const recipient = {
      address: isIn ? inbox.address : customer.email,
      kind: 'to',
      status: isIn ? null : 'sent',
      code: null,
    };
    await tx.kysely
      .insertInto('mails')
      .values({
        id,
        account_id: message.account_id,
        inbox_id: inbox.id,
        rfc_id: `${id}@demo.example`,
        conversation_id: message.conversation_id,
        message_id: message.id,
        subject: isIn ? subject : `Re: ${subject}`,
        recipients: JSON.stringify([recipient]),
        created_at: at,
        updated_at: at,
        ...(isIn
          ? {
              direction: 'in',
              purpose: 'message',
              status: 'accepted',
              actor_id: message.author_id,
              from_address: customer.email,
              from_name: customer.name,
              body_text: text,
              body_html: html,
              verdict: JSON.stringify(UNPROVEN),
            }
          : {
              direction: 'out',
              purpose: 'reply',
              status: 'sent',
              sent_at: at,
              attempts: 1,
              from_address: inbox.address,
              from_name: CUSTOMER_SERVICE,
            }),
      })
      .execute();
    await updateThread(tx, message.conversation_id, {
      subject,
      ...(isIn ? { last_in_id: id } : { last_out_id: id }),
    });
  },
};

const UNPROVEN = { source: 'none', spf: 'none', dkim: 'none', dmarc: 'none', result: 'none' };
