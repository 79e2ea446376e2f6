import type { Mailbox, ParsedMail } from '@parley/mail-reader/parsed-mail.ts';
import { base64, letter, utf8 } from '@parley/mail-reader/test/corpus/corpus-mail.ts';
import { readInPieces } from '@parley/mail-reader/test/read-in-pieces.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { EmailVerdict } from '@parley/protocol/resources/email.ts';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import type { MailboxRow } from '../../src/core/resources/mailbox.ts';
import { type MessageRow, messageColumns } from '../../src/core/resources/message.ts';
import { type AcceptOptions, acceptMail } from '../../src/features/mail/incoming/accept.ts';
import { type MailRow, readMail } from '../../src/features/mail/mails/mail-store.ts';
import { openMailKey } from '../../src/features/mail/outgoing/mail-key.ts';
import type { Envelope } from '../../src/features/mail/transports/envelope.ts';
import type { Arrival } from '../../src/features/mail/transports/intake.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import type { Teardown } from '../support/teardown.ts';
import { createGround, openWritePath } from '../support/timeline.ts';
import { addInbox } from './fixture.ts';

const VERDICTS = {
  none: { source: 'none', spf: 'none', dkim: 'none', dmarc: 'none', result: 'none' },
  pass: { source: 'checked', spf: 'pass', dkim: 'pass', dmarc: 'pass', result: 'pass' },
  fail: { source: 'checked', spf: 'fail', dkim: 'none', dmarc: 'fail', result: 'fail' },
} as const satisfies Record<string, EmailVerdict>;

/** What a test says of a mail; the rest is that of a plain mail of Cleo. */
export interface MailFields extends Partial<ParsedMail> {
  readonly inbox?: MailboxRow;
  readonly envelope?: Partial<Envelope>;
  readonly verdict?: keyof typeof VERDICTS;
}

/** An account with an admin, an agent's role and an inbox, and what accepts its mail. */
export async function openAccepting(t: Teardown, domain = 'harbor.example') {
  const ground = await createGround(t);
  const { database, accountId } = ground;
  const engine = new MemoryEngine<Frame>();
  t.teardown(() => engine.close());
  const admin = await database.transaction(async (tx) => {
    const role = await createRole(tx, { accountId, name: 'admin', type: 'admin', permissions: [] });
    return (
      await createUser(tx, { accountId, name: 'Grace', email: 'grace@harbor.example', roleId: role.id })
    ).user;
  });
  const owner = { ...ground, actorId: admin.id };
  const inbox = await addInbox(owner, { address: `support@${domain}` });
  const key = await openMailKey(database);
  const { lockedWrites, committed } = openWritePath(ground, engine);
  const verdicts = new WeakMap<ParsedMail, EmailVerdict>();
  const sources = new Map<string, Buffer>();
  const store: AcceptOptions['store'] = {
    presignDownload: async ({ key: file }) => `https://files.example/${file}`,
    async open(file) {
      const bytes = sources.get(file);
      return (
        bytes && {
          size: bytes.length,
          read: async function* () {
            yield bytes;
          },
        }
      );
    },
  };
  const options: AcceptOptions = {
    database,
    store,
    lockedWrites,
    key,
    authenticate: async ({ mail }) => verdicts.get(mail) ?? VERDICTS.none,
  };
  const arrivalOf = ({
    inbox: to = inbox,
    envelope,
    verdict = 'none',
    ...fields
  }: MailFields = {}): Arrival => {
    const mail = mailOf(fields, to);
    verdicts.set(mail, VERDICTS[verdict]);
    const source = newId('upload');
    sources.set(source, Buffer.from(mail.text));
    return {
      inbox: to,
      envelope: { transport: 'http', sender: null, recipients: null, client: null, ...envelope },
      source: { key: source, sizeBytes: mail.text.length },
      mail,
    };
  };
  const acceptArrival = async (arrival: Arrival) => {
    const { id } = await acceptMail(options, arrival);
    return (await readMail(database, id))!;
  };
  return {
    ground,
    database,
    accountId,
    owner,
    admin,
    inbox,
    key,
    options,
    committed,
    engine,
    arrivalOf,
    accept: (fields: MailFields = {}) => acceptArrival(arrivalOf(fields)),
    /**
     * Accepts a mail of Cleo's as it is read from its bytes, and returns the body of its message.
     * `header`: fields of it.
     */
    async bodyOf(text: string, header: Readonly<Record<string, string>> = {}, fields: MailFields = {}) {
      mails += 1;
      const plain = { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Transfer-Encoding': 'base64' };
      const encoded = Object.entries(header).map(([name, value]) => [name, utf8(value)]);
      const source = letter(`mail-${mails}`, { ...plain, ...Object.fromEntries(encoded) }, base64(text));
      const { mail } = await readInPieces(source, 1_000);
      const row = await acceptArrival(arrivalOf({ ...mail, ...fields }));
      const messages = await database.query(MESSAGES_OF, row.conversation_id!);
      return messages.find(({ id }) => id === row.message_id)!.body;
    },
    acceptArrival,
    messagesOf: (conversationId: string) => database.query(MESSAGES_OF, conversationId),
    topics: () => database.kysely.selectFrom('outbox').select(['topic', 'payload']).orderBy('id').execute(),
  };
}

const MESSAGES_OF = statement<[conversationId: string], MessageRow>('test-messages-of-case')`
    SELECT ${messageColumns('m')} FROM messages m WHERE conversation_id = $1 AND status = 'sent' ORDER BY sequence`;

export function box(text: string): Mailbox {
  const [, name, address] = /^(?:(.*) )?<?([^<>\s]+@[^<>\s]+?)>?$/.exec(text)!;
  return { address: address!, name: name ?? null };
}

let mails = 0;

function mailOf(fields: Partial<ParsedMail>, inbox: MailboxRow): ParsedMail {
  mails += 1;
  const text = fields.text ?? `Where is my order number ${mails}?`;
  return {
    headers: [],
    rfcId: `mail-${mails}@customers.example`,
    inReplyTo: null,
    references: [],
    from: box('Cleo <cleo@customers.example>'),
    replyTo: null,
    to: [{ address: inbox.address, name: null }],
    cc: [],
    subject: 'Where is my order?',
    visibleText: text,
    html: null,
    attachments: [],
    report: null,
    complaint: null,
    protection: null,
    isDamaged: false,
    unread: null,
    ...fields,
    text,
  };
}

/** The References and In-Reply-To of an answer to this mail. */
export function answering({ rfc_id }: Pick<MailRow, 'rfc_id'>) {
  return { inReplyTo: rfc_id, references: [rfc_id], subject: 'Re: Where is my order?' };
}
