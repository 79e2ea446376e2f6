import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { MailboxRow } from '../../src/core/resources/mailbox.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { signed } from '../mail/arrivals.ts';
import { addInbox } from '../mail/fixture.ts';
import { freePort } from '../support/free-port.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Random } from '../support/random.ts';
import { RawClient } from '../support/raw-client.ts';
import { startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface MailInOptions extends Seeded {
  /** Number of mails, each sent twice. */
  readonly mails: number;
  readonly customers: number;
  /** Number of concurrent senders. */
  readonly width: number;
  /** Number of kills of a node. */
  readonly kills: number;
}

interface MailInFigures extends Found {
  readonly mails: number;
  readonly messages: number;
  readonly kills: number;
  /** Acknowledged copies by transport. */
  readonly acknowledged: Readonly<Record<Transport, number>>;
  /** Killed senders, by what they had sent: a part of the mail, or all of it. */
  readonly killedSenders: Readonly<Record<'part' | 'whole', number>>;
  /** Tries that no node acknowledged, because it was killed or away. */
  readonly unanswered: number;
  /** Rows of uploads without a reference, which the purge removes a day later. */
  readonly unreferenced: number;
}

type Transport = 'http' | 'smtp';

/**
 * Every mail is sent twice to two nodes, over HTTP or SMTP, by senders that are killed in the
 * middle and begin again until they are acknowledged; a node is killed too. Then each mail is
 * exactly one message, and each stored file has a row by which a purge finds it.
 */
export const mailIn = campaign({ whole: () => ({ mails: 2_000, customers: 200, width: 16, kills: 3 }), run });

async function run(t: Teardown, options: MailInOptions, random: Random): Promise<MailInFigures> {
  const { mails, customers, width, kills } = options;
  const [redis, { url }, ...ports] = await Promise.all([
    startRedis(t),
    createTestDatabase(t),
    freePort(),
    freePort(),
  ]);
  let dataDir: string | undefined;
  const start = (index: 0 | 1) =>
    startNode(t, {
      databaseUrl: url,
      redisUrl: redis.url,
      env: {
        PARLEY_MAIL_SECRET: SECRET,
        PARLEY_RATE_LIMIT: 'off',
        PARLEY_SMTP_LISTEN: `127.0.0.1:${ports[index]}`,
      },
      ...(dataDir !== undefined && { dataDir }),
    });
  const first = await start(0);
  // Nodes without object storage share their files.
  dataDir = first.dataDir;
  const nodes: [TestNode, TestNode] = [first, await start(1)];
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  const { demo } = first;
  const inbox = await addInbox({ database, accountId: demo.account_id, actorId: demo.users.ada.id });

  const acknowledged = { http: 0, smtp: 0 };
  const killedSenders = { part: 0, whole: 0 };
  let unanswered = 0;
  const copies = shuffled(
    [...Array(mails).keys()].flatMap((n) => [n, n]),
    random,
  );
  const work = async () => {
    for (let n = copies.pop(); n !== undefined; n = copies.pop()) {
      for (let isDone = false; !isDone; ) {
        const index = random.below(2) as 0 | 1;
        const transport: Transport = random.below(2) === 0 ? 'http' : 'smtp';
        const mail = mailOf(n, inbox, customers);
        const fate = random.pick(FATES);
        const port = transport === 'http' ? Number(new URL(nodes[index].baseUrl).port) : ports[index]!;
        isDone = await send(transport, port, inbox, mail, fate);
        if (fate !== 'lives') killedSenders[fate] += 1;
        else if (isDone) acknowledged[transport] += 1;
        else {
          unanswered += 1;
          await pause(100);
        }
      }
    }
  };
  const killing = async () => {
    for (let n = 1; n <= kills; n++) {
      await until(() => copies.length <= 2 * mails * (1 - n / (kills + 1)), {
        what: 'the next kill',
        timeoutMs: FINISH_MS,
      });
      const index = random.below(2) as 0 | 1;
      await nodes[index].kill('SIGKILL');
      nodes[index] = await start(index);
    }
  };
  await Promise.all([...Array.from({ length: width }, work), killing()]);

  const { problems, messages, unreferenced } = await check(database, mails, join(dataDir, 'uploads'));
  return {
    mails,
    messages,
    kills,
    acknowledged,
    killedSenders,
    unanswered,
    unreferenced,
    problems: problems,
  };
}

/** A fifth of the senders are killed. */
const FATES = [...Array<'lives'>(8).fill('lives'), 'part', 'whole'] as const;
const SECRET = 's'.repeat(32);
const FINISH_MS = 10 * 60_000;
const ANSWER_MS = 60_000;

/** Returns a mail. Every eighth has an attachment, sometimes of 400 kB. */
function mailOf(n: number, { address }: MailboxRow, customers: number): string {
  const head = [
    `From: Customer <customer-${n % customers}@customers.example>`,
    `To: ${address}`,
    `Subject: Order ${n}`,
    `Message-ID: <mail-${n}@customers.example>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
  ];
  const text = ['', '--b', 'Content-Type: text/plain', '', `This is mail ${n}.`];
  const size = n % 64 === 0 ? 400_000 : 4_000;
  const file = [
    '--b',
    'Content-Type: text/csv',
    'Content-Disposition: attachment; filename=a.csv',
    '',
    `${n};`.repeat(size / 4).replace(/.{70}/g, '$&\r\n'),
  ];
  return [...head, ...text, ...(n % 8 === 0 ? file : []), '--b--', ''].join('\r\n');
}

/**
 * Returns whether the mail was acknowledged. `fate`: what the sender has done when it is killed.
 */
async function send(
  transport: Transport,
  port: number,
  { address }: MailboxRow,
  mail: string,
  fate: 'lives' | 'part' | 'whole',
): Promise<boolean> {
  const client = new RawClient(port);
  try {
    if (transport === 'http') {
      const head = `POST /v1/mail/inbound HTTP/1.1\r\nHost: x\r\nContent-Type: message/rfc822\r\nContent-Length: ${mail.length}\r\n`;
      client.send(`${head}Parley-Signature: ${signed(mail, SECRET)}\r\n\r\n`);
      if (fate === 'part') return await cutAfter(client, mail);
      client.send(mail);
      if (fate === 'whole') return await cutAfter(client, '');
      await answered(client, /^HTTP\/1\.1 \d{3}/);
      return client.statuses[0] === 200;
    }
    await answered(client, /220 .*\r\n/);
    const commands = ['EHLO x', 'MAIL FROM:<x@customers.example>', `RCPT TO:<${address}>`, 'DATA'];
    client.send(`${commands.join('\r\n')}\r\n`);
    if (!(await answered(client, /^354 /m))) return false;
    if (fate === 'part') return await cutAfter(client, mail);
    client.send(`${mail}.\r\n`);
    if (fate === 'whole') return await cutAfter(client, '');
    await answered(client, /^354 .*\r\n\d{3} .*\r\n/m);
    return /^354 .*\r\n250 /m.test(client.received);
  } finally {
    client.destroy();
  }
}

/** Cuts the connection; the node may have got any part of the mail. */
async function cutAfter(client: RawClient, mail: string): Promise<false> {
  client.send(mail.slice(0, mail.length / 2));
  await pause(5);
  return false;
}

/** Resolves with false if the connection ends first. */
async function answered(client: RawClient, answer: RegExp): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const look = () => {
    if (answer.test(client.received)) resolve(true);
  };
  client.socket.on('data', look);
  void client.closed.then(() => resolve(false));
  const timer = setTimeout(() => resolve(false), ANSWER_MS);
  look();
  const isAnswered = await promise;
  clearTimeout(timer);
  client.socket.off('data', look);
  return isAnswered;
}

async function check(database: Database, mails: number, directory: string) {
  const problems: string[] = [];
  const { rows } = await database.pool.query<{ n: number; times: number }>(
    `SELECT substring(body FROM '^This is mail (\\d+)\\.$')::int AS n, count(*)::int AS times
     FROM messages WHERE kind = 'email' GROUP BY 1`,
  );
  const times = new Map(rows.map((row) => [row.n, row.times]));
  for (let n = 0; n < mails; n++) {
    if (times.get(n) !== 1) problems.push(`mail ${n} is ${times.get(n) ?? 0} messages`);
  }
  if (times.size !== mails) problems.push(`${times.size} different messages of ${mails} mails`);
  const { rows: statuses } = await database.pool.query<{ status: string; count: number }>(
    'SELECT status, count(*)::int AS count FROM mails GROUP BY status',
  );
  const expected = [{ status: 'accepted', count: mails }];
  if (JSON.stringify(statuses) !== JSON.stringify(expected)) problems.push(JSON.stringify(statuses));

  const { rows: uploads } = await database.pool.query<{ s3_key: string; is_referenced: boolean }>(
    `SELECT s3_key, EXISTS (SELECT FROM mails m WHERE m.source_key = u.s3_key)
       OR EXISTS (SELECT FROM attachments a WHERE a.s3_key = u.s3_key) AS is_referenced
     FROM uploads u`,
  );
  const files = new Set(readdirSync(directory).filter((name) => name.startsWith('upl_')));
  const registered = new Set(uploads.map(({ s3_key }) => s3_key));
  for (const file of files) if (!registered.has(file)) problems.push(`the file ${file} has no row`);
  for (const { s3_key: key, is_referenced } of uploads) {
    if (is_referenced && !files.has(key)) problems.push(`the file ${key} is missing`);
  }
  const withFile = Math.ceil(mails / 8);
  const referenced = uploads.filter(({ is_referenced }) => is_referenced).length;
  if (referenced !== mails + withFile) problems.push(`${referenced} files of ${mails} mails`);
  return { problems, messages: times.size, unreferenced: uploads.length - referenced };
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const rest = [...items];
  return items.map(() => rest.splice(random.below(rest.length), 1)[0]!);
}
