import { Email } from '../../../contract/protocol/resources/email.ts';
import { requireSender } from '../../../core/conversations/access.ts';
import type { ConversationDirectory } from '../../../core/conversations/directory.ts';
import { readableMessage } from '../../../core/messages/reading/readable-message.ts';
import type { Downloads } from '../../../core/resources/attachment.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { defineRoute, type Route } from '../../../platform/http/pipeline/route.ts';
import { presentEmail } from '../mail-store.ts';
import type { OutgoingOptions } from './outgoing.ts';
import { resendMail } from './resend.ts';

export interface ResendRoutesOptions {
  readonly database: Database;
  readonly directory: ConversationDirectory;
  readonly files: Downloads;
  readonly outgoing: Pick<OutgoingOptions, 'hasTransport' | 'onDue'>;
}

export function resendRoutes({ database, directory, files, outgoing }: ResendRoutesOptions): Route[] {
  const reason = outgoing.hasTransport ? null : 'no_transport';
  return [
    defineRoute({
      name: 'resend_message_email',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/resend',
      summary: 'Send the mail of a message again',
      since: '1.2.harbor',
      permission: 'messaging:create',
      agents: false,
      status: 200,
      response: Email,
      async prepare({ principal, params }) {
        const { row, facts } = await readableMessage({ database, directory }, principal, params.id!);
        requireSender(principal, facts);
        return row;
      },
      async change(tx, { principal, afterCommit }, message) {
        const mail = await resendMail(tx, principal, message, reason);
        afterCommit(() => outgoing.onDue(mail.id));
        return presentEmail(files, mail);
      },
    }),
  ];
}
