import { setTimeout as pause } from 'node:timers/promises';
import type { Import } from '@parley/protocol/resources/import.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { type Call, slackContents, startImport, tarred, zipped } from '../import/samples.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { PeakMemory } from '../support/peak-memory.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Random } from '../support/random.ts';
import { SteadyLoad } from '../support/steady-load.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface ArchivesOptions extends Seeded {
  /** 1: documents of tens of megabytes, and a million files; 0.01 is a hundredth of that. */
  readonly size: number;
}

interface ArchivesFigures extends Found {
  readonly archives: readonly {
    readonly kind: string;
    readonly packedBytes: number;
    readonly seconds: number;
    readonly became: string;
    readonly remarks: number;
    /** The longest time until an answer of `/healthz`. */
    readonly healthzMs: number;
    /** The node's maximum, above its size before. */
    readonly grownMb: number | null;
  }[];
  readonly sent: number;
}

/**
 * Archives made to take a node's time, memory or disk, one after the other, beside a load of sends.
 * Every send is acknowledged, the node does not grow, and every import ends with a bounded number
 * of remarks.
 */
export const archives = campaign({ whole: () => ({ size: 1 }), run });

const MOST_GROWN_MB = 150;
const MOST_REMARKS = 10_000;

async function run(t: Teardown, { size }: ArchivesOptions, random: Random): Promise<ArchivesFigures> {
  const { url: databaseUrl } = await createTestDatabase(t);
  const database = await openDatabase({ url: databaseUrl, log });
  t.teardown(() => database.close());
  const node = await startNode(t, { databaseUrl });
  const call = callsOf(node);
  const conversationIds = [node.demo.conversations.case];
  const load = new SteadyLoad(t, { node: () => node, conversationIds, perSecond: 20, random });
  const problems: string[] = [];
  const figures: ArchivesFigures['archives'][number][] = [];
  // The node's code is loaded, and its heap has its usual size.
  await importOne('usual', 'slack', await zipped(slackContents(2_000)));
  for (const [kind, { source, make }] of Object.entries(KINDS)) {
    figures.push(await importOne(kind, source, await make(size, random)));
  }
  await load.stop();
  const kept = new Set<string>();
  for (const id of conversationIds) for (const message of await node.page(id)) kept.add(message.id);
  const lost = load.acknowledged.filter((id) => !kept.has(id));
  if (lost.length > 0) problems.push(`${lost.length} acknowledged messages are lost`);
  return { problems, archives: figures, sent: load.acknowledged.length };

  async function importOne(kind: string, source: string, archive: Buffer) {
    const memory = new PeakMemory(t, node);
    const before = memory.take();
    const health = new Health(node);
    const startedAt = performance.now();
    const id = await startImport(call, source, archive, { origin: kind });
    const done = await until(
      async () => {
        const { body } = await call<Import>('GET', `/v1/imports/${id}`);
        return ['completed', 'failed'].includes(body.status) ? body : undefined;
      },
      { what: `the end of ${kind}`, timeoutMs: 900_000 },
    );
    const healthzMs = Math.round(await health.end());
    const peak = memory.take();
    const grownMb = before === undefined || peak === undefined ? null : peak - before;
    const { rows } = await database.pool.query(
      'SELECT count(*)::integer AS remarks FROM import_remarks WHERE import_id = $1',
      [id],
    );
    const { remarks } = rows[0];
    if (remarks > MOST_REMARKS) problems.push(`${kind}: ${remarks} rows of remarks`);
    if (grownMb !== null && grownMb > MOST_GROWN_MB) problems.push(`${kind}: the node grew by ${grownMb} MB`);
    if (done.error === 'internal_error') problems.push(`${kind}: ${done.error_message}`);
    return {
      kind,
      packedBytes: archive.length,
      remarks,
      healthzMs,
      grownMb,
      seconds: Math.round((performance.now() - startedAt) / 1_000),
      became: done.error_message === null ? done.status : `${done.status}: ${done.error_message}`,
    };
  }
}

/** Requests `/healthz` repeatedly. */
class Health {
  #most = 0;
  #isOver = false;
  readonly #asking: Promise<void>;

  constructor(node: TestNode) {
    this.#asking = this.#ask(`${node.baseUrl}/healthz`);
  }

  /** Returns the longest time of an answer, in milliseconds. */
  async end(): Promise<number> {
    this.#isOver = true;
    await this.#asking;
    return this.#most;
  }

  async #ask(url: string): Promise<void> {
    while (!this.#isOver) {
      const askedAt = performance.now();
      await (await fetch(url)).text();
      this.#most = Math.max(this.#most, performance.now() - askedAt);
      await pause(10);
    }
  }
}

function callsOf(node: TestNode): Call {
  const newest = node.at('1.4.harbor');
  return (async (method: string, path: string, { body }: { body?: unknown } = {}) => {
    const answer = await newest.call(method, path, body);
    return { ...answer, text: JSON.stringify(answer.body) };
  }) as unknown as Call;
}

interface Kind {
  readonly source: 'slack' | 'mattermost' | 'zulip';
  readonly make: (size: number, random: Random) => Promise<Buffer>;
}

const MIB = 2 ** 20;

/** Values that repeat every some kilobytes, so that the text packs well but not too well. */
function listOf(bytes: number, random: Random, value: (random: Random) => string): string {
  const pieces: string[] = [];
  let length = 0;
  for (let part = ''; length < bytes; length += part.length) {
    part = Array.from({ length: 200 }, () => value(random)).join(',');
    for (let times = random.below(40) + 10; times > 0 && length < bytes; times--) {
      pieces.push(part);
      length += part.length;
    }
  }
  return `[${pieces.join(',')}]`;
}

async function slack(contents: object): Promise<Buffer> {
  return zipped({ ...slackContents(1), ...contents });
}

/** Archives that once took a node's time or memory. */
const KINDS: Readonly<Record<string, Kind>> = {
  'numbers in place of messages': {
    source: 'slack',
    make: (size, random) =>
      slack({ 'general/2020-10-01.json': listOf(20 * MIB * size, random, (it) => String(it.below(1e9))) }),
  },
  'the largest document, of numbers': {
    source: 'slack',
    make: (size, random) =>
      slack({ 'general/2020-10-01.json': listOf(63 * MIB * size, random, (it) => String(it.below(1e3))) }),
  },
  'the largest document, of objects': {
    source: 'slack',
    make: (size, random) =>
      slack({ 'general/2020-10-01.json': listOf(63 * MIB * size, random, (it) => `{"n":${it.below(1e6)}}`) }),
  },
  'empty objects, more than fit into memory': {
    source: 'slack',
    make: (size, random) =>
      slack({
        'general/2020-10-01.json': listOf(63 * MIB * size, random, (it) =>
          it.pick(['{}', '[]', '{ }', '[ ]']),
        ),
      }),
  },
  'many documents of nothing': {
    source: 'slack',
    make: (size) => {
      const days = Math.round(50_000 * size);
      return slack(
        Object.fromEntries(Array.from({ length: days }, (_, day) => [`general/${day}.json`, '7'])),
      );
    },
  },
  'many workspaces with the same folder': {
    source: 'slack',
    make: (size) =>
      slack(
        Object.fromEntries(
          Array.from({ length: Math.round(20_000 * size) }, (_, index) => [
            [`w${index}/channels.json`, []],
            [`w${index}/g/2020-10-01.json`, []],
          ]).flat(),
        ),
      ),
  },
  'deep documents': {
    source: 'slack',
    make: (size, random) =>
      slack(
        Object.fromEntries(
          Array.from({ length: Math.round(200 * size) + 1 }, (_, day) => {
            const depth = 101 + random.below(5_000);
            return [`general/2020-${day}.json`, `${'['.repeat(depth)}${']'.repeat(depth)}`];
          }),
        ),
      ),
  },
  'lists of channels that are none': {
    source: 'slack',
    make: (size, random) =>
      slack({ 'groups.json': listOf(30 * MIB * size, random, (it) => String(it.below(1e9))) }),
  },
  'lines that are unknown': {
    source: 'mattermost',
    make: async (size, random) => {
      const lines = ['{"type":"version","version":1}'];
      for (let count = Math.round(1_000_000 * size); count > 0; count--)
        lines.push(`{"type":"x${random.below(9)}"}`);
      return zipped({ 'import.jsonl': lines.join('\n') });
    },
  },
  'messages of Zulip in no conversation': {
    source: 'zulip',
    make: (size, random) => {
      const messages = listOf(50 * MIB * size, random, (it) => `{"id":${it.below(1e9)}}`);
      return tarred({
        'harbor/realm.json': { zerver_userprofile: [], zerver_stream: [], zerver_recipient: [] },
        'harbor/messages-000001.json': `{"zerver_message":${messages}}`,
      });
    },
  },
};
