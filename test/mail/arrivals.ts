import { createHash, createHmac } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ParsedMail } from '@parley/mail-reader/parsed-mail.ts';
import { derivedId, newId } from '@parley/protocol/ids.ts';
import { FileStore } from '../../src/core/attachments/file-store.ts';
import { FileUrls } from '../../src/core/attachments/file-urls.ts';
import type { MailboxRow } from '../../src/core/resources/mailbox.ts';
import { type MailRow, readMail } from '../../src/features/mail/mails/mail-store.ts';
import { type MailMetrics, mailMetrics } from '../../src/features/mail/metrics.ts';
import { type MailKey, openMailKey } from '../../src/features/mail/outgoing/mail-key.ts';
import { type Arrival, Intake } from '../../src/features/mail/transports/intake.ts';
import type { MailFiles } from '../../src/features/mail/transports/registered-files.ts';
import { headerValues } from '../../src/features/mail/transports/source-head.ts';
import { createMetrics, type Metrics } from '../../src/platform/metrics.ts';
import { freshDirectory } from '../start/parley.ts';
import type { Teardown } from '../support/teardown.ts';
import { createGround, type Ground, log } from '../support/timeline.ts';
import { addInbox } from './fixture.ts';

/**
 * An Intake over a real Postgres and a real store, with a few lines in place of the code behind it,
 * so that it can fail at will.
 */
export interface Arrivals {
  readonly ground: Ground;
  readonly inbox: MailboxRow;
  readonly other: MailboxRow;
  readonly key: MailKey;
  readonly store: FileStore;
  readonly intake: Intake;
  readonly metrics: MailMetrics & Pick<Metrics, 'registry'>;
  /** Runs before a mail is accepted. */
  beforeAccept: (arrival: Arrival) => void | Promise<void>;
  /** Every mail of the database with its source, in the order of the bytes. */
  mails(): Promise<(Pick<MailRow, 'inbox_id' | 'rfc_id' | 'from_address'> & { source: string })[]>;
  /** The files of the store, those that are being written among them, and the rows of uploads. */
  leftovers(): Promise<{ files: number; rows: number }>;
}

export async function openArrivals(t: Teardown): Promise<Arrivals> {
  const ground = await createGround(t);
  const { database, accountId } = ground;
  const owner = { database, accountId, actorId: ground.authorId };
  const [inbox, other] = [
    await addInbox(owner, { address: 'support@harbor.example' }),
    await addInbox(owner, { address: 'Sales@harbor.example' }),
  ];
  const directory = join(freshDirectory(t), 'uploads');
  const urls = new FileUrls({ secret: 'secret', baseUrl: () => '' });
  const store = new FileStore({ directory, urls });
  const key = await openMailKey(database);
  const { registry } = createMetrics();
  const metrics = { registry, ...mailMetrics({ registry }) };
  const acceptMail = async (arrival: Arrival): Promise<MailRow> => {
    await arrivals.beforeAccept(arrival);
    const { mail, source } = arrival;
    const id = derivedId('mail', `${arrival.inbox.id} ${mail.rfcId}`);
    await database.kysely
      .insertInto('mails')
      .values({
        id,
        account_id: accountId,
        inbox_id: arrival.inbox.id,
        rfc_id: mail.rfcId!,
        direction: 'in',
        purpose: 'message',
        status: 'accepted',
        from_address: arrival.envelope.sender,
        source_key: source.key,
        size_bytes: source.sizeBytes,
      })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
    return (await readMail(database, id))!;
  };
  const intake = new Intake({ database, store, key, parseMail, acceptMail, metrics, log });
  const arrivals: Arrivals = {
    ground,
    inbox,
    other,
    key,
    store,
    intake,
    metrics,
    beforeAccept: () => {},
    async mails() {
      const rows = await database.kysely.selectFrom('mails').selectAll().orderBy('rfc_id').execute();
      return Promise.all(
        rows.map(async ({ inbox_id, rfc_id, from_address, source_key }) => {
          const source = await store.read(source_key!, 64 * 1024 * 1024);
          return { inbox_id, rfc_id, from_address, source: source!.toString('latin1') };
        }),
      );
    },
    async leftovers() {
      const rows = await database.kysely.selectFrom('uploads').select('s3_key').execute();
      const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
      return { files: entries.filter((entry) => entry.isFile()).length, rows: rows.length };
    },
  };
  await store.put({ key: newId('upload') }, Buffer.from('so that the directory exists'));
  return arrivals;
}

/** Reads the header, and stores the body once more, as an attachment that no message will have. */
async function parseMail(store: MailFiles, key: string): Promise<ParsedMail> {
  const file = await store.open(key);
  const hash = createHash('sha256');
  let head: Buffer | undefined;
  const attachment = newId('upload');
  const bytes = async function* (): AsyncIterable<Buffer> {
    for await (const piece of file!.read()) {
      // A piece is valid until the next one.
      head ??= Buffer.from(piece);
      hash.update(piece);
      yield piece;
    }
  };
  const sizeBytes = await store.putStream({ key: attachment, contentType: 'text/plain' }, bytes());
  const [rfcId = hash.digest('hex')] = headerValues(head!, 'message-id');
  return {
    headers: [],
    rfcId: rfcId.replace(/[<>]/g, ''),
    inReplyTo: null,
    references: [],
    from: null,
    replyTo: null,
    to: [],
    cc: [],
    subject: null,
    text: '',
    visibleText: '',
    html: null,
    report: null,
    complaint: null,
    protection: null,
    attachments: [{ key: attachment, filename: 'a.txt', contentType: 'text/plain', sizeBytes }],
    isDamaged: false,
    unread: null,
  };
}

/** A mail with CRLF. `to`: its `To` header. */
export function mailTo(to: string, id: string, body = 'Where is my order?\r\n'): string {
  return `From: Cleo <cleo@customers.example>\r\nTo: ${to}\r\nSubject: Order\r\nMessage-ID: <${id}>\r\n\r\n${body}`;
}

/** The value of Parley-Signature. */
export function signed(
  body: string | Buffer,
  secret: string,
  seconds = Math.floor(Date.now() / 1_000),
): string {
  const mac = createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex');
  return `t=${seconds},v1=${mac}`;
}
