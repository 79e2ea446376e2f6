import { notFound } from '@parley/protocol/errors/errors.ts';
import { ConversationEmail, Email } from '@parley/protocol/resources/email.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { readableConversation, requireSender } from '../../core/conversations/directory/access.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { readableMessage } from '../../core/messages/rules/readable-message.ts';
import type { Downloads } from '../../core/resources/attachment.ts';
import { presentMailbox, readMailboxOf } from '../../core/resources/mailbox.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { presentComplaint, readComplaintsOf } from './complaints/complaint-store.ts';
import { presentEmail, readMailOfMessage, readMails } from './mails/mail-store.ts';
import { readNextMail } from './mails/thread-store.ts';
import type { OutgoingOptions } from './outgoing/outgoing.ts';
import { resendMail } from './outgoing/resend.ts';
import { threadSubject } from './outgoing/subject.ts';

/** Returns the routes of mails of cases and messages (docs/contract.md#email), for the team. */
export function conversationEmailRoutes(
  { database, directory, store: files }: Pick<NodeParts, 'database' | 'directory' | 'store'>,
  outgoing: Pick<OutgoingOptions, 'hasTransport' | 'onDue'>,
): Route[] {
  const common = { since: '1.2.harbor', permission: 'messaging:read' } as const;
  return [
    defineRoute({
      ...common,
      name: 'get_conversation_email',
      method: 'GET',
      path: '/v1/messaging/conversations/:id/email',
      summary: 'Read how mail of a case travels, and what became of the last one',
      response: ConversationEmail,
      async handle({ principal, params }) {
        const { id } = await readableConversation(directory, principal, params.id!);
        return conversationEmail(database, files, principal.accountId, id);
      },
    }),
    defineRoute({
      ...common,
      name: 'get_message_email',
      method: 'GET',
      path: '/v1/messaging/messages/:id/email',
      summary: 'Read the mail that carries a message, and what became of it',
      response: Email,
      async handle({ principal, params }) {
        const { row } = await readableMessage({ database, directory }, principal, params.id!);
        const mail = await readMailOfMessage(database, row.id);
        if (mail === undefined) throw notFound('email', 'id');
        return presentEmail(files, mail);
      },
    }),
    defineRoute({
      ...common,
      name: 'resend_message_email',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/resend',
      summary: 'Send the mail of a message again',
      permission: 'messaging:create',
      agents: false,
      response: Email,
      async prepare({ principal, params }) {
        const { row, facts } = await readableMessage({ database, directory }, principal, params.id!);
        requireSender(principal, facts);
        return row;
      },
      async change(tx, { principal, afterCommit }, message) {
        const reason = outgoing.hasTransport ? null : 'no_transport';
        const mail = await resendMail(tx, principal, message, reason);
        afterCommit(() => outgoing.onDue(mail.id));
        return presentEmail(files, mail);
      },
    }),
  ];
}

async function conversationEmail(
  database: Database,
  files: Downloads,
  accountId: string,
  id: string,
): Promise<ConversationEmail> {
  const next = (await readNextMail(database, id))!;
  const lastIds = [next.last_out_id, next.last_in_id].filter((mailId) => mailId !== null);
  const addresses = [...next.to, ...next.cc, ...next.customers].map((address) => address.toLowerCase());
  const [inbox, mails, complaints] = await Promise.all([
    next.inbox_id === null ? undefined : readMailboxOf(database, accountId, next.inbox_id),
    readMails(database, lastIds),
    readComplaintsOf(database, { accountId, addresses }),
  ]);
  const shown = async (mailId: string | null) => {
    const mail = mails.find((one) => one.id === mailId);
    return mail === undefined ? null : presentEmail(files, mail);
  };
  return {
    object: 'conversation_email',
    conversation_id: id,
    inbox: inbox === undefined ? null : presentMailbox(inbox),
    subject: inbox === undefined ? null : threadSubject({ ...next, subject: null }),
    to: [...next.to],
    cc: [...next.cc],
    last_out: await shown(next.last_out_id),
    last_in: await shown(next.last_in_id),
    complaints: complaints.map(presentComplaint),
  };
}
