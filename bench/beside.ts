import { createHmac, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { List } from '@parley/protocol/lists.ts';
import type { Export } from '@parley/protocol/resources/export.ts';
import type { Import } from '@parley/protocol/resources/import.ts';
import type { Inbox } from '@parley/protocol/resources/inbox.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { compareWith } from './lib/compare.ts';
import { mattermostExport, uploadImport } from './lib/import-job.ts';
import type { Side } from './lib/pairs.ts';
import { type BenchDatabase, checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { metricIn, readMetrics } from './lib/product.ts';
import { count } from './lib/row.ts';
import { CONNECTIONS } from './lib/send-load.ts';
import { SendStand } from './lib/send-stand.ts';
import type { Scale, Session, Work } from './lib/work.ts';
import { addWebhook, removeWebhooks, startReceiver } from './webhooks.ts';

/**
 * The latency of sends in an open loop beside each kind of background work, against the same sends
 * on the same node without it. A block fails unless the work ran from its beginning to its end.
 */
export const BESIDE: Work = { name: 'beside', title: 'sends beside background work', fullOnly: true, run };

async function run(session: Session): Promise<void> {
  const { disposer, timing } = session;
  const sizes = SIZES[session.scale];
  const { parley } = await startPostgres(disposer, ['parley']);
  const env = { PARLEY_FETCH_ALLOW: '127.0.0.1', PARLEY_MAIL_SECRET: MAIL_SECRET };
  const stand = await SendStand.open(session, parley, { env });
  const bench = new Bench(stand, parley);
  const archive = await bench.seed('archive', 1, sizes.archived, 0);
  const receiver = await startReceiver(session);
  const before = async () => {
    await drainOutbox(parley);
    await checkpoint(parley);
  };
  const kinds: readonly Kind[] = [
    searchIndex(bench),
    webhookDeliveries(bench, receiver),
    webhookBacklog(bench, receiver),
    await incomingMail(bench, sizes.mailBytes),
    conversationExport(bench, archive),
    retentionSweep(bench, sizes.swept),
    importedArchive(bench, sizes.imported),
    indexBuild(bench),
  ];
  const mostPerSecond = async (what: string) => {
    await before();
    const { figure } = await stand.side(CONNECTIONS, 'direct').run(timing.blockMs);
    session.say(`  at most ${count(figure)}/s ${what}`);
    return figure;
  };
  await stand.side(CONNECTIONS, 'direct').run(timing.warmupMs);
  const mostAlone = await mostPerSecond('alone');
  const seeds = { last: 0 };
  for (const kind of kinds) {
    let most = mostAlone;
    if (kind.ofEachSend) {
      const running = await kind.begin();
      most = Math.min(most, await mostPerSecond(`beside ${kind.name}`));
      await running.end();
    }
    const rate = Math.round(most / 2);
    const work = `P3 send p99 at ${rate}/s beside ${kind.name}`;
    await session.part(`beside ${kind.name}`, () =>
      compareWith(session, {
        unit: 'ms',
        ours: beside(stand, rate, seeds, kind),
        against: [
          { work, control: alone(stand, rate, seeds), ...(kind.hasGoal ? { atMost: MAX_RATIO } : {}) },
        ],
        before,
        timing: { ...timing, blockMs: sizes.blockMs, warmupMs: Math.max(timing.warmupMs, 1_000) },
        facts: { 'sends a second, closed loop': Math.round(most), 'sends a second, here': rate },
      }),
    );
  }
}

const MAX_RATIO = 1.5;
const MAIL_SECRET = randomBytes(32).toString('hex');
const MIB = 1_024 * 1_024;

interface Sizes {
  readonly blockMs: number;
  /** Messages of the exported conversation, which are also indexed again. */
  readonly archived: number;
  /** Rows that a sweep deletes. */
  readonly swept: number;
  /** More messages than an import can write in a block. */
  readonly imported: number;
  readonly mailBytes: number;
}

/** A p99 of fewer sends than those of ten seconds shows single syncs of the disk. */
const LONG: Sizes = {
  blockMs: 10_000,
  archived: 100_000,
  swept: 100_000,
  imported: 400_000,
  mailBytes: 25 * MIB,
};
const SIZES: Readonly<Record<Scale, Sizes>> = {
  full: LONG,
  short: LONG,
  brief: { blockMs: 1_000, archived: 5_000, swept: 10_000, imported: 20_000, mailBytes: MIB },
};
/** Conversations of the rows that a sweep deletes. */
const SWEPT_CONVERSATIONS = 200;

interface Kind {
  readonly name: string;
  readonly hasGoal: boolean;
  /** Whether each send causes some of the work. The rate is then half of the slower side's most. */
  readonly ofEachSend?: true;
  /** Prepares a block, untimed. */
  readonly prepare?: () => Promise<void>;
  /** Resolves when the work runs. */
  readonly begin: () => Promise<Running>;
}

/** Work of the node that goes on while sends are measured. */
interface Running {
  /** Rejects unless it has run since it began. Returns the amount of work done. */
  readonly check: () => Promise<number>;
  /** Resolves when no work is left. */
  readonly end: () => Promise<void>;
}

function alone(stand: SendStand, rate: number, seeds: { last: number }): Side {
  return { name: 'alone', run: (durationMs) => sends(stand, rate, durationMs, seeds) };
}

function beside(stand: SendStand, rate: number, seeds: { last: number }, { prepare, begin }: Kind): Side {
  return {
    name: 'beside',
    run: async (durationMs) => {
      await prepare?.();
      const running = await begin();
      // Read before the outbox is empty, since the block waits for that.
      const checked = delay(durationMs).then(() => running.check());
      checked.catch(() => undefined);
      try {
        const block = await sends(stand, rate, durationMs, seeds);
        return { ...block, notes: { ...block.notes, done_a_second: (await checked) / (durationMs / 1_000) } };
      } finally {
        await running.end();
      }
    },
  };
}

async function sends(stand: SendStand, rate: number, durationMs: number, seeds: { last: number }) {
  seeds.last += 1;
  const { latencyUs, latenessUs, processor } = await stand.sendAtRate(rate, durationMs, seeds.last);
  return {
    figure: latencyUs.p99 / 1_000,
    processor,
    notes: {
      p50_ms: latencyUs.p50 / 1_000,
      p999_ms: latencyUs.p999 / 1_000,
      max_ms: latencyUs.max / 1_000,
      generator_late_p99_ms: latenessUs.p99 / 1_000,
    },
  };
}

/** Calls of the node and its database that several kinds need. */
class Bench {
  readonly stand: SendStand;
  readonly parley: BenchDatabase;

  constructor(stand: SendStand, parley: BenchDatabase) {
    this.stand = stand;
    this.parley = parley;
  }

  async call<T>(method: string, path: string, body?: object): Promise<T> {
    const { demo, headers } = this.stand.product;
    const response = await fetch(`${demo.base_url}${path}`, {
      method,
      headers: { ...headers, 'Service-Version': NEWEST_VERSION, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.parley.database.pool.query(text, [...values])).rows;
  }

  /**
   * Adds groups without members, with messages of so many days ago. Triggers do not run, so that no
   * work is left for any other kind. Returns the last conversation.
   */
  async seed(name: string, conversations: number, messages: number, days: number): Promise<string> {
    const accountId = this.stand.product.demo.account_id;
    const client = await this.parley.database.pool.connect();
    try {
      await client.query(
        'BEGIN; SET LOCAL session_replication_role = replica; SET LOCAL statement_timeout = 0',
      );
      await client.query(
        `INSERT INTO conversations (id, account_id, type)
        SELECT format('cnv_%s_%s', $2::text, lpad(n::text, 6, '0')), $1, 'group' FROM generate_series(1, $3::integer) AS n`,
        [accountId, name, conversations],
      );
      await client.query(
        `INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body, author_id, sender_id,
          created_at, updated_at)
        SELECT format('msg_%s_%s', c.id, lpad(n::text, 6, '0')), c.account_id, c.id, n, 'chat', 'sent', 'internal',
          'A message of some length, as they are, with the number ' || n, key.actor_id, key.actor_id, at, at
        FROM conversations c, (SELECT actor_id FROM api_keys WHERE account_id = $1 ORDER BY id LIMIT 1) AS key,
          generate_series(1, $3::integer) AS n, (SELECT now() - make_interval(days => $4::integer) AS at) AS times
        WHERE c.id LIKE format('cnv_%s_%%', $2::text)`,
        [accountId, name, Math.ceil(messages / conversations), days],
      );
      await client.query('COMMIT');
    } finally {
      client.release();
    }
    await this.query('VACUUM (ANALYZE) messages, conversations');
    return `cnv_${name}_${String(conversations).padStart(6, '0')}`;
  }
}

/** Repeats `once` until the end, one run at a time. The figure is the number of completed runs. */
function repeated(once: () => Promise<void>): Running {
  let isOver = false;
  let done = 0;
  let failure: unknown;
  const running = (async () => {
    for (; !isOver; done++) await once();
  })().catch((error: unknown) => {
    failure = error;
  });
  return {
    check: async () => {
      if (failure !== undefined) throw failure;
      return done;
    },
    end: async () => {
      isOver = true;
      await running;
    },
  };
}

/** Indexes everything again, and once more when the index is through. */
function searchIndex(bench: Bench): Kind {
  const indexed = async () =>
    metricIn(await readMetrics(bench.stand.product), 'parley_search_indexed_messages_total');
  const restart = `UPDATE search_state SET filled_through = '' WHERE filled_through IS NULL`;
  return {
    name: 'the search index',
    hasGoal: true,
    begin: async () => {
      const first = await indexed();
      const restarting = repeated(async () => {
        await bench.query(restart);
        await delay(RESTARTED_AFTER_MS);
      });
      // The node looks for due work twice a second.
      while ((await indexed()) === first) await delay(20);
      const before = await indexed();
      return {
        check: async () => {
          await restarting.check();
          return (await indexed()) - before;
        },
        end: async () => {
          await restarting.end();
          await bench.query('UPDATE search_state SET filled_through = NULL');
        },
      };
    },
  };
}

const RESTARTED_AFTER_MS = 200;

/** Adds a webhook for all events. The figure is the number of delivered events. */
function webhookDeliveries(bench: Bench, url: string): Kind {
  const delivered = async () => {
    const counted = `SELECT count(*)::integer AS count FROM webhook_deliveries WHERE status = 'delivered'`;
    return (await bench.query<{ count: number }>(counted))[0]!.count;
  };
  return {
    name: 'webhooks',
    hasGoal: true,
    ofEachSend: true,
    begin: async () => {
      await addWebhook(bench.parley, bench.stand, url);
      // The node learns of a webhook that another process has added when it looks for it.
      while ((await delivered()) === 0) await bench.stand.sample('direct');
      const before = await delivered();
      return {
        check: async () => {
          const made = (await delivered()) - before;
          if (made === 0) throw new Error('no event was delivered');
          return made;
        },
        end: async () => {
          await drainOutbox(bench.parley);
          await removeWebhooks(bench.parley);
        },
      };
    },
  };
}

const BACKLOG_PREPARED_S = 10;

/** Adds a webhook for no new event, with a delivery of each old message, as a backlog. */
function webhookBacklog(bench: Bench, url: string): Kind {
  const left = async () => {
    const counted = `SELECT count(*)::integer AS count FROM webhook_deliveries WHERE status = 'pending'`;
    return (await bench.query<{ count: number }>(counted))[0]!.count;
  };
  const isBegun = async () =>
    (await bench.query(`SELECT FROM webhook_deliveries WHERE status <> 'pending' LIMIT 1`)).length > 0;
  return {
    name: 'a backlog of webhooks',
    hasGoal: true,
    // Due when all work that the insert causes is done.
    prepare: async () => {
      const id = await addWebhook(bench.parley, bench.stand, url, 'draft.created');
      await bench.query(
        `INSERT INTO webhook_deliveries (webhook_id, id, event_id, event_type, conversation_id, sequence, head, resource_id,
          occurred_at, next_try_at)
        SELECT $1, 'whd_' || m.id, 'evt_' || m.id, 'message.created', m.conversation_id, m.sequence, m.sequence, m.id,
          m.created_at, now() + interval '${BACKLOG_PREPARED_S} s'
        FROM messages m WHERE m.id LIKE 'msg_cnv_archive%'`,
        [id],
      );
      await bench.query('VACUUM (ANALYZE) webhook_deliveries');
      await checkpoint(bench.parley);
    },
    begin: async () => {
      while (!(await isBegun())) await delay(20);
      const before = await left();
      return {
        check: async () => {
          const rest = await left();
          if (rest === 0) throw new Error('everything was delivered before the block ended');
          return before - rest;
        },
        end: () => removeWebhooks(bench.parley),
      };
    },
  };
}

/** Sends one mail after the other over HTTP, nearly all attachment. */
async function incomingMail(bench: Bench, mailBytes: number): Promise<Kind> {
  const { data } = await bench.call<List<Inbox>>('GET', '/v1/messaging/inboxes');
  const line = `${randomBytes(57).toString('base64')}\r\n`;
  const attachment = Buffer.from(line.repeat(Math.floor((mailBytes - 4_096) / line.length)));
  let mails = 0;
  let mail: Buffer = Buffer.alloc(0);
  let signature = '';
  return {
    name: `a mail of ${mailBytes / MIB} MiB`,
    hasGoal: true,
    // The generator takes as long for a signature as for a hundred sends.
    prepare: async () => {
      mails += 1;
      mail = Buffer.concat([mailHead(data[0]!.address, mails), attachment, Buffer.from('--b--\r\n')]);
      const seconds = Math.floor(Date.now() / 1_000);
      const mac = createHmac('sha256', MAIL_SECRET).update(`${seconds}.`).update(mail).digest('hex');
      signature = `t=${seconds},v1=${mac}`;
    },
    begin: async () => repeated(() => postMail(bench.stand.product.port, mail, signature)),
  };
}

function mailHead(to: string, number: number): Buffer {
  return Buffer.from(
    [
      `From: Customer <customer-${number}@customers.example>`,
      `To: <${to}>`,
      `Message-ID: <${number}@customers.example>`,
      'Subject: A large file',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'It is attached.',
      '--b',
      'Content-Type: application/octet-stream; name=large.bin',
      'Content-Disposition: attachment; filename=large.bin',
      'Content-Transfer-Encoding: base64',
      '',
      '',
    ].join('\r\n'),
  );
}

function postMail(port: number, mail: Buffer, signature: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      'Content-Type': 'message/rfc822',
      'Content-Length': mail.length,
      'Parley-Signature': signature,
    };
    const posting = request({ host: '127.0.0.1', port, path: '/v1/mail/inbound', method: 'POST', headers });
    posting.on('error', reject).on('response', (response) => {
      response.resume().on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`a mail was answered with ${response.statusCode}`));
      });
    });
    posting.end(mail);
  });
}

function conversationExport(bench: Bench, conversationId: string): Kind {
  const once = async () => {
    const path = `/v1/messaging/conversations/${conversationId}/exports`;
    let made = await bench.call<Export>('POST', path, {});
    while (made.status !== 'complete') {
      if (made.status === 'failed') throw new Error('an export failed');
      await delay(50);
      made = await bench.call<Export>('GET', `/v1/exports/${made.id}`);
    }
  };
  return { name: 'an export', hasGoal: true, begin: async () => repeated(once) };
}

/** Sweeps old messages. The figure is the number of deleted rows. */
function retentionSweep(bench: Bench, swept: number): Kind {
  const kept = { files_days: null, notifications_days: null, runs_days: null, audit_days: null };
  const set = (messages_days: number | null) =>
    bench.call('PUT', '/v1/account/retention', { ...kept, messages_days });
  const left = async () => {
    const counted = `SELECT count(*)::integer AS count FROM messages WHERE conversation_id LIKE 'cnv_old%'`;
    return (await bench.query<{ count: number }>(counted))[0]!.count;
  };
  // Checks the first and last messages, since counting takes Postgres as long as a hundred sends.
  const has = async (message: string) =>
    (await bench.query('SELECT FROM messages WHERE id = $1', [`msg_${message}`])).length > 0;
  const lastOfEach = String(swept / SWEPT_CONVERSATIONS).padStart(6, '0');
  let rounds = 0;
  let last = '';
  return {
    name: `a sweep of ${swept} rows`,
    hasGoal: true,
    prepare: async () => {
      rounds += 1;
      last = await bench.seed(`old${rounds}`, SWEPT_CONVERSATIONS, swept, OLD_DAYS);
    },
    begin: async () => {
      await set(OLD_DAYS - 1);
      while (await has(`cnv_old${rounds}_000001_000001`)) await delay(20);
      return {
        check: async () => {
          const rest = await left();
          if (rest === 0) throw new Error('the sweep had deleted everything before the block ended');
          return swept - rest;
        },
        end: async () => {
          while (await has(`${last}_${lastOfEach}`)) await delay(50);
          await set(null);
          // Otherwise autovacuum would do it in one of the next blocks.
          await bench.query('VACUUM (ANALYZE) messages, conversations');
        },
      };
    },
  };
}

const OLD_DAYS = 100;

/** Runs an import. The figure is the number of messages that it wrote. */
function importedArchive(bench: Bench, messages: number): Kind {
  const call: Bench['call'] = (...args) => bench.call(...args);
  let rounds = 0;
  let id = '';
  const written = async () => {
    const { status, counts } = await call<Import>('GET', `/v1/imports/${id}`);
    if (status !== 'queued' && status !== 'running') throw new Error(`the import is ${status}`);
    return counts.find(({ type }) => type === 'messages')?.imported ?? 0;
  };
  return {
    name: 'an import',
    hasGoal: true,
    prepare: async () => {
      id = await uploadImport(call, mattermostExport(messages, rounds++));
      await checkpoint(bench.parley);
    },
    begin: async () => {
      await call('POST', `/v1/imports/${id}/actions/start`);
      while ((await written()) === 0) await delay(50);
      const before = await written();
      return {
        check: async () => (await written()) - before,
        end: () => call<void>('POST', `/v1/imports/${id}/actions/cancel`),
      };
    },
  };
}

function indexBuild(bench: Bench): Kind {
  const once = async () => {
    await bench.query('CREATE INDEX CONCURRENTLY bench_beside ON messages (account_id, body)');
    await bench.query('DROP INDEX bench_beside');
  };
  return { name: 'an index build of Postgres', hasGoal: false, begin: async () => repeated(once) };
}
