/** The loop that sends mail: its bounds, the mails left to other nodes, and that none is lost. */

import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { addComplaint } from '../../src/features/mail/complaints/complaint-store.ts';
import type { MailRow } from '../../src/features/mail/mails/mail-store.ts';
import { readMail } from '../../src/features/mail/mails/mail-store.ts';
import { mailMetrics } from '../../src/features/mail/metrics.ts';
import type { WrittenMail } from '../../src/features/mail/outgoing/compose-mail.ts';
import { SEND_TIMES } from '../../src/features/mail/outgoing/send-times.ts';
import { MailSender } from '../../src/features/mail/outgoing/sender.ts';
import type { MailTransport, Tried } from '../../src/features/mail/outgoing/transport.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { sooner } from '../support/sooner.ts';
import { createGround, log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { addMail } from './fixture.ts';

const ground = await createGround(t);
const { database, accountId } = ground;
const other = newId('account');
await database.kysely.insertInto('accounts').values({ id: other, name: 'Other' }).execute();
const MINE = { database, accountId, actorId: ground.authorId };
const OTHERS = { ...MINE, accountId: other };
const ALL_SENT = (recipients: readonly string[]): Tried => ({
  recipients: recipients.map((address) => ({ address, status: 'sent', code: null })),
  reason: null,
});

t.beforeEach(async () => {
  await database.kysely.deleteFrom('mails').execute();
});

const WRITTEN: WrittenMail = {
  sender: 'support@harbor.example',
  subject: 'Ahoy',
  text: 'ahoy',
  html: '<p>ahoy',
  attachments: [],
};

t.test('a backlog that hangs is bounded, and another account does not wait for it', async (t) => {
  let [atOnce, most, closed] = [0, 0, 0];
  const sender = open({
    send: async (_mail, recipients, signal) => {
      if (recipients[0] === 'quick@customers.example') return ALL_SENT(recipients);
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
        stop.signal.addEventListener('abort', resolve);
      });
      atOnce -= 1;
      const [address = ''] = recipients;
      return { recipients: [{ address, status: 'deferred', code: null }], reason: 'timeout' };
    },
    close: () => {
      closed += 1;
      stop.abort();
    },
  });
  const stop = new AbortController();
  for (let n = 0; n < 100; n++) await add(MINE, `slow-${n}@customers.example`);
  const quick = await add(OTHERS, 'quick@customers.example');
  sender.wake();
  await until(async () => (await readMail(database, quick.id))?.status === 'sent', {
    what: 'the quick mail',
  });
  await until(() => atOnce >= 8, { what: 'the slow ones to begin' });
  t.ok(most <= 16, `${most} at once`);
  const taken = await count("next_try_at > clock_timestamp() AND status = 'queued'");
  t.ok(taken <= 33, `${taken} are held in memory`);

  await sender.close();
  t.equal(closed, 1);
  t.equal(
    await count("next_try_at <= clock_timestamp() AND attempts = 0 AND status = 'queued'"),
    100,
    'all are left',
  );
  const next = open({ send: async (_mail, recipients) => ALL_SENT(recipients), close: () => {} });
  await until(async () => (await count("status = 'sent'")) === 101, { what: 'the next node to send them' });
  await next.close();
});

t.test('a lease is renewed while a mail is under way, and ends with its node', async (t) => {
  const end = Promise.withResolvers<void>();
  let tries = 0;
  const transport = {
    send: async (_mail: object, recipients: readonly string[]) => {
      tries += 1;
      if (tries === 1) await end.promise;
      return ALL_SENT(recipients);
    },
    close: () => {},
  };
  // A lease of two seconds.
  const [first, second] = [open(transport), open(transport)];
  const mail = await add(MINE, 'one@customers.example');
  first.wake();
  await until(() => tries === 1, { what: 'the try' });
  const leases = new Set<string>();
  await until(
    async () => {
      leases.add((await readMail(database, mail.id))!.next_try_at!);
      return leases.size > 4;
    },
    { what: 'renewals' },
  );
  t.equal(tries, 1, 'no other node has begun');
  end.resolve();
  await until(async () => (await readMail(database, mail.id))?.status === 'sent', { what: 'the end' });

  // What a node that was killed leaves behind: a lease.
  const left = await add(MINE, 'left@customers.example', { attempts: 1 });
  await database.pool.query(
    "UPDATE mails SET next_try_at = clock_timestamp() + interval '300 ms' WHERE id = $1",
    [left.id],
  );
  await until(async () => (await readMail(database, left.id))?.status === 'sent', { what: 'the takeover' });
  t.match(await readMail(database, left.id), { attempts: 2, rfc_id: left.rfc_id });
  await Promise.all([first.close(), second.close()]);
});

t.test('a mail that cannot be made is tried again, and no other waits for it', async (t) => {
  const sender = open(
    { send: async (_mail, recipients) => ALL_SENT(recipients), close: () => {} },
    async (mail) => {
      if (mail.recipients[0]?.address.startsWith('broken')) throw new Error('cannot be made');
      return WRITTEN;
    },
  );
  const broken = await add(MINE, 'broken@customers.example');
  const whole = await add(MINE, 'whole@customers.example');
  const none = await add(MINE, 'none@customers.example', { recipients: '[]' });
  sender.wake();
  await until(async () => (await readMail(database, whole.id))?.status === 'sent', {
    what: 'the other mail',
  });
  await until(async () => ((await readMail(database, broken.id))?.attempts ?? 0) > 2, { what: 'its tries' });
  t.match(await readMail(database, broken.id), { status: 'deferred', reason: 'internal_error' });
  await until(async () => (await readMail(database, none.id))?.status === 'canceled', { what: 'the last' });
  t.match(await readMail(database, none.id), { reason: 'no_recipient' });
  await sender.close();
});

t.test('a reply leaves for those of its recipients that have not complained', async (t) => {
  const handed: string[][] = [];
  const sender = open({
    send: async (_mail, recipients) => {
      handed.push([...recipients]);
      return ALL_SENT(recipients);
    },
    close: () => {},
  });
  const [stopped, other] = ['stopped@customers.example', 'other@customers.example'];
  const complaint = { account_id: accountId, kind: 'abuse', mail_id: 'mai_none', conversation_id: null };
  await database.transaction((tx) => addComplaint(tx, { ...complaint, address: stopped }));
  const both = ['to', 'cc'].map((kind, n) => ({
    address: [other, 'Stopped@customers.example'][n],
    kind,
    status: 'queued',
    code: null,
  }));
  const alone = await add(MINE, stopped);
  const copied = await add(MINE, other, { recipients: JSON.stringify(both) });
  const theirs = await add(OTHERS, stopped);
  const digest = await add(MINE, stopped, { purpose: 'digest' });
  sender.wake();
  await until(async () => (await count("status IN ('queued', 'deferred')")) === 0, { what: 'the outcomes' });
  t.strictSame(handed.sort(), [[other], [stopped], [stopped]]);
  const outcomes = await Promise.all([alone, copied, theirs, digest].map(({ id }) => readMail(database, id)));
  t.match(
    outcomes.map((mail) => [mail!.status, mail!.reason, mail!.recipients.map(({ status }) => status)]),
    [
      ['failed', 'complaint', ['failed']],
      ['failed', 'complaint', ['sent', 'failed']],
      ['sent', null, ['sent']],
      ['sent', null, ['sent']],
    ],
  );
  await sender.close();
});

function open(transport: MailTransport, reply = async (_: MailRow) => WRITTEN): MailSender {
  const times = { retries: sooner(SEND_TIMES.retries, 1_000), lookEveryMs: 100, leaseMs: 2_000 };
  const sender = new MailSender({
    database,
    transport,
    times,
    writers: { reply, digest: reply },
    metrics: mailMetrics(createMetrics()),
    log,
  });
  t.teardown(() => sender.close());
  return sender;
}

/** A mail that is due. */
function add(
  owner: typeof MINE,
  address: string,
  fields: Parameters<typeof addMail>[1] = {},
): Promise<MailRow> {
  return addMail(owner, {
    direction: 'out',
    purpose: 'reply',
    status: 'queued',
    next_try_at: new Date(0).toISOString(),
    from_address: 'support@harbor.example',
    recipients: JSON.stringify([{ address, kind: 'to', status: 'queued', code: null }]),
    ...fields,
  });
}

async function count(condition: string): Promise<number> {
  const { rows } = await database.pool.query(
    `SELECT count(*)::integer AS count FROM mails WHERE ${condition}`,
  );
  return Number(rows[0].count);
}
