/**
 * Without influence: OPERATION, ASIDE, PAGES, packages/client/ai, packages/client/react,
 * src/features/mail.
 */

import pg from 'pg';
import t from 'tap';
import { agentKills } from '../../campaigns/agent-kills.ts';
import { streams } from '../../campaigns/streams.ts';
import { AgentCluster, ReplyReader, transcript } from '../../support/agent-cluster.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import { until } from '../../support/until.ts';

const cluster = await AgentCluster.startBehindLinks(t, 3, 'first', 'second');

t.test(
  'a model that fails over is read alike on both nodes, from the start, late and after a cut',
  async (t) => {
    const { models, nodes } = cluster;
    const [a, b] = nodes;
    const id = await cluster.createConversation('Watch');
    const link = await FaultProxy.start({
      target: { host: '127.0.0.1', port: Number(new URL(b!.baseUrl).port) },
    });
    t.teardown(() => link.close());
    const readers = [
      new ReplyReader(t, () => a!, id),
      new ReplyReader(t, () => b!, id),
      new ReplyReader(
        t,
        () => b!,
        id,
        () => `http://127.0.0.1:${link.port}`,
      ),
    ];
    const joined = Promise.withResolvers<void>();
    const failed = Promise.withResolvers<void>();
    models.reply(
      {
        text: words('one', 40),
        hold: { at: 20, until: joined.promise },
        breaks: { after: 40, how: 'error' },
      },
      'first',
    );
    models.reply({ text: words('two', 40), hold: { at: 20, until: failed.promise } }, 'second');
    await a!.send(id, { body: 'Tell me.' });
    await until(() => readers.every(({ writing }) => writing.includes('one 19')), { what: 'the first half' });
    for (const node of nodes) readers.push(new ReplyReader(t, () => node, id));
    await until(() => readers.every(({ writing }) => writing.includes('one 19')), {
      what: 'those that come late',
    });
    joined.resolve();
    await until(() => readers.every(({ writing }) => writing.includes('two 19')), {
      what: 'the second model',
    });
    link.cut();
    failed.resolve();

    const database = new pg.Client({ connectionString: cluster.databaseUrl });
    await database.connect();
    t.teardown(() => database.end());
    const stored = await until(
      async () => {
        const { rows } = await database.query(
          `SELECT sequence::int, body, streaming_state FROM messages WHERE conversation_id = $1 ORDER BY sequence`,
          [id],
        );
        return rows.at(-1)?.streaming_state === 'complete' ? rows : undefined;
      },
      { what: 'the end' },
    );
    t.equal(stored.at(-1).body, words('two', 40).join(''));
    await until(() => readers.every((reader) => reader.view() === transcript(stored)), {
      what: `all readers to have ${transcript(stored)}; they have ${readers.map((reader) => reader.view())}`,
    });
    // Readers that were cut off may have missed pieces, and have the whole text nevertheless.
    for (const index of [0, 1, 3, 4]) t.strictSame(readers[index]?.matched, [true], `reader ${index}`);
  },
);

t.test('a short run of the campaign of streams', async (t) => {
  const figures = await streams(t, { seed: 3, conversations: 2, questions: 2, readers: 4, cluster });
  t.strictSame(figures.problems, [], JSON.stringify(figures));
  t.equal(figures.replies, 6);
  t.ok(figures.whole > 0 && figures.overtaken > 0, JSON.stringify(figures));
});

t.test(
  'a node that is killed while its agents write leaves nothing streaming, and no reader behind',
  async (t) => {
    const figures = await agentKills(t, { seed: 3, rounds: 1, runs: 2, cluster, endsLeases: true });
    t.strictSame(figures.problems, []);
    t.equal(figures.runs.failed, 2, 'the kill met both');
  },
);

function words(what: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${what} ${n} `);
}
