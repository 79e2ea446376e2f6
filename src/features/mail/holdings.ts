import { forgetAnswers } from '../../api/access/idempotency.ts';
import { withdrawUploads } from '../../core/attachments/uploads.ts';
import { enqueueChanged } from '../../core/events/changes.ts';
import type { ErasedPerson, ExportFiles, Holdings } from '../../core/resources/holdings.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { liftComplaints, presentComplaint, readComplaintsOf } from './complaints/complaint-store.ts';
import {
  presentEmail,
  readMailOfMessage,
  readMailsOfConversation,
  type ShownMail,
} from './mails/mail-store.ts';
import {
  eraseFromCopies,
  eraseFromThreads,
  erasePersonFromMails,
  mailsOfPerson,
  moveWriter,
} from './removal/person-store.ts';
import {
  countOldSources,
  deleteMailsOfConversation,
  readSourceAge,
  removeOldSources,
} from './removal/purge-store.ts';

/** Personal data in mails: copies of messages, names and addresses, and their sources. */
export const holdings: Holdings = {
  tables: {
    inboxes: { account: 'last', moved: { last: 'true' } },
    mails: {
      account: 'content',
      message_id: 'removed',
      conversation_id: 'purged',
      actor_id: 'erased',
      file: 'source_key',
      exported: 'emails',
      moved: { last: 't.next_try_at IS NOT NULL', file: ['source_key', "'message/rfc822'"] },
    },
    mail_threads: { moved: {} },
    mail_complaints: { account: 'content', exported: 'email_complaints' },
  },
  purgeConversation: deleteMailsOfConversation,
  expire: { files: removeOldSources },
  count: { files: countOldSources },
  readAges: async (db, accountId) => ({ files: await readSourceAge(db, accountId) }),
  async copiesOf(tx, messageId) {
    const mail = await readMailOfMessage(tx, messageId);
    if (mail === undefined) return { ids: [], texts: [] };
    return { ids: [mail.id], texts: [mail.subject, mail.body_text, mail.body_html] };
  },
  movePerson: async (tx, { from, to, conversationIds }) => moveWriter(tx, from, to, conversationIds),
  erasePerson: eraseFromMails,
  exportsOfPerson: {
    async *emails(db, files, { account_id: accountId, id, handle, email, proven_address }) {
      const addresses = addressesOf([handle, email, proven_address]);
      for await (const rows of mailsOfPerson(db, { accountId, id, addresses })) yield shown(files, rows);
    },
    async *email_complaints(db, _files, { account_id: accountId, handle, email, proven_address }) {
      const addresses = addressesOf([handle, email, proven_address]);
      yield (await readComplaintsOf(db, { accountId, addresses })).map(presentComplaint);
    },
  },
  exportsOfConversation: {
    async *emails(db, files, { id }) {
      let last: ShownMail | undefined;
      do {
        const rows = await readMailsOfConversation(db, id, last ?? null, EMAILS_AT_ONCE);
        yield await shown(files, rows);
        last = rows.length < EMAILS_AT_ONCE ? undefined : rows.at(-1);
      } while (last !== undefined);
    },
  },
};

function addressesOf(names: readonly (string | null)[]): string[] {
  return names.flatMap((name) => name?.toLowerCase() ?? []);
}

function shown({ downloads }: ExportFiles, rows: readonly ShownMail[]): Promise<object[]> {
  return Promise.all(rows.map((row) => presentEmail(downloads, row)));
}

/** Erases a person from mails, after the messages: mails without their message have no content. */
async function eraseFromMails(
  database: Database,
  { accountId, id, names, removesMessages, signal }: ErasedPerson,
): Promise<void> {
  const addresses = addressesAmong(names);
  const person = { accountId, id, addresses };
  for await (const mails of mailsOfPerson(database, person)) {
    signal.throwIfAborted();
    const mailIds = mails.map((mail) => mail.id);
    const messageIds = mails.flatMap(({ message_id }) => message_id ?? []);
    await database.transaction(async (tx) => {
      const changed = await eraseFromCopies(tx, addresses, messageIds);
      const changes = changed.map((message) => ({ event: 'message.updated' as const, ...message }));
      await enqueueChanged(tx, changes);
      const keys = await erasePersonFromMails(tx, person, mailIds, removesMessages);
      await withdrawUploads(tx, keys);
      await forgetAnswers(tx, mailIds);
    });
  }
  if (addresses.length === 0) return;
  await database.transaction(async (tx) => {
    await eraseFromThreads(tx, accountId, addresses);
    await liftComplaints(tx, { accountId, addresses }, null);
  });
}

function addressesAmong(names: readonly string[]): string[] {
  return [...new Set(names.flatMap((name) => (name.includes('@') ? name.toLowerCase() : [])))];
}

const EMAILS_AT_ONCE = 100;
