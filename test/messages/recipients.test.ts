/**
 * Recipients are computed before the commit, from a cache that may be behind. Changes acknowledged
 * before a send still hold for it (docs/architecture.md#recipients).
 */

import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { Rights } from '../../src/api/access/rights.ts';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { SentEffects, type SentEffectsOptions } from '../../src/core/committed/sent-effects.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import { lockConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import { addParticipant, writeParticipant } from '../../src/core/conversations/rows/participant-store.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import type { MessagesSent } from '../../src/core/messages/outbox-topics.ts';
import { Numbers } from '../../src/core/messages/timeline/numbers.ts';
import { Timeline } from '../../src/core/messages/timeline/timeline.ts';
import { WritePath } from '../../src/core/messages/timeline/write-path.ts';
import { planNotifications } from '../../src/core/notifications/causes/notify.ts';
import { SettingsOfUsers } from '../../src/core/notifications/settings/settings.ts';
import type { Tx } from '../../src/platform/db/connection/handle.ts';
import { InFlightRows } from '../../src/platform/db/queue/in-flight-rows.ts';
import { OverdueRows } from '../../src/platform/db/queue/outbox-worker.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { NO_FILES } from '../support/files.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import {
  addConversation,
  createGround,
  type Ground,
  log,
  NO_LISTENERS,
  newMessage,
} from '../support/timeline.ts';
import { until } from '../support/until.ts';

t.test(
  '1,000 interleavings of rosters that change and sends on two nodes that hear of no change',
  async (t) => {
    const ground = await createGround(t);
    const engine = new MemoryEngine<Frame>();
    const nodes = [await DeafNode.start(t, ground, engine), await DeafNode.start(t, ground, engine)];
    const random = new Random(11);
    const rosters = await Promise.all(Array.from({ length: 10 }, () => Roster.create(ground)));
    const expected = new Map<string, string[]>();
    // The conversations run side by side, so that flushes hold messages of several.
    await Promise.all(
      rosters.map(async (roster) => {
        for (let round = 0; round < 100; round++) {
          await roster.change(random);
          const mentioned = roster.members()[random.below(4)];
          const messages = Array.from({ length: 1 + random.below(3) }, () =>
            newMessage(
              { ...ground, conversationId: roster.conversationId },
              { mentions: mentioned === undefined ? null : [mentioned.actorId] },
            ),
          );
          for (const { id, mentions } of messages) expected.set(id, roster.recipients(mentions ?? []));
          await Promise.all(messages.map((message) => nodes[random.below(2)]!.send(message)));
          // A change that follows may hold for these messages too, as long as their effects are
          // under way.
          await Promise.all(nodes.map((node) => node.idle()));
        }
      }),
    );
    await Promise.all(nodes.map((node) => node.idle()));

    const rows = await ground.database.kysely.selectFrom('notifications').selectAll().execute();
    const byMessage = Map.groupBy(rows, ({ message_id }) => message_id);
    for (const [id, recipients] of expected) {
      const notified = (byMessage.get(id) ?? []).map(({ recipient_id }) => recipient_id).sort();
      if (JSON.stringify(notified) !== JSON.stringify(recipients)) t.same(notified, recipients, id);
    }
    t.equal(rows.length, [...expected.values()].flat().length);
    const early = nodes.reduce((sum, node) => sum + node.notifiedAtCommit, 0);
    t.ok(
      early > 0 && early < expected.size,
      `${early} of ${expected.size} messages were notified of in their flush`,
    );
  },
);

t.test('a message and its notifications commit together', async (t) => {
  const ground = await createGround(t);
  const node = await DeafNode.start(t, ground, new MemoryEngine());
  const roster = await Roster.create(ground);
  const message = newMessage({ ...ground, conversationId: roster.conversationId });
  await node.send(message);
  const rows = await ground.database.kysely
    .selectFrom('notifications')
    .select(['recipient_id', 'message_id', 'changed_in'])
    .execute();
  t.same(
    rows.map(({ recipient_id }) => recipient_id).sort(),
    roster.recipients([]),
    'as soon as it is acknowledged',
  );
  t.equal(node.notifiedAtCommit, 1);
});

t.test('a message without text has no preview, with its commit or after it', async (t) => {
  const ground = await createGround(t);
  const node = await DeafNode.start(t, ground, new MemoryEngine());
  const roster = await Roster.create(ground, 1);
  await node.warm(roster.conversationId);
  const send = () =>
    node.send(newMessage({ ...ground, conversationId: roster.conversationId }, { body: '' }));
  await send();
  // The cache is behind now.
  await roster.add();
  await send();
  await node.idle();
  t.equal(node.notifiedAtCommit, 1);
  const rows = await ground.database.kysely.selectFrom('notifications').select('body').execute();
  t.strictSame(rows, [{ body: null }, { body: null }, { body: null }]);
});

t.test('messages beyond the notifications that a flush writes have theirs after the commit', async (t) => {
  const ground = await createGround(t);
  const node = await DeafNode.start(t, ground, new MemoryEngine());
  const roster = await Roster.create(ground, 90);
  const messages = Array.from({ length: 5 }, () =>
    newMessage({ ...ground, conversationId: roster.conversationId }),
  );
  await node.warm(roster.conversationId);
  await Promise.all(messages.map((message) => node.send(message)));
  t.equal(node.notifiedAtCommit, 2, 'two of ninety fit into 200');
  await node.idle();
  const rows = await ground.database.kysely.selectFrom('notifications').select('message_id').execute();
  const counts = Map.groupBy(rows, ({ message_id }) => message_id);
  t.same(
    messages.map(({ id }) => counts.get(id)?.length),
    [90, 90, 90, 90, 90],
  );
});

t.test(
  'messages wait for a flush that writes their notifications, once 5,000 are due after commits',
  async (t) => {
    const ground = await createGround(t);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const node = await DeafNode.start(t, ground, new MemoryEngine(), { effectsFrom: released });
    const groups = await Promise.all([50, 50, 50].map((members) => Roster.create(ground, members)));
    const direct = await Roster.create(ground, 1);
    for (const { conversationId } of [...groups, direct]) await node.warm(conversationId);
    const places = [...Array.from({ length: 300 }, (_, n) => groups[n % 3]!), direct];
    const answered: Roster[] = [];
    const sent = await Promise.all(
      places.map(async (place) => {
        const row = await node.send(newMessage({ ...ground, conversationId: place.conversationId }));
        answered.push(place);
        return row;
      }),
    );

    // Of the 301, the first flush writes those of four, and leaves a hundred and the direct one.
    t.equal(301 - node.notifiedAtCommit, 101, 'have theirs after the commit');
    t.ok(answered.indexOf(direct) < 150, 'the direct message passes the others');
    for (const group of groups) {
      const numbers = sent.filter((_, n) => places[n] === group).map(({ sequence }) => sequence!);
      const inOrder = numbers.toSorted((a, b) => a - b);
      t.same(numbers, inOrder, 'in the order in which they were sent');
    }

    release();
    const made = async () => {
      const rows = await ground.database.kysely.selectFrom('notifications').select('id').execute();
      return rows.length === 300 * 50 + 1;
    };
    await until(made, { what: 'the notifications of all messages' });
  },
);

t.test('a notification that Postgres refuses does not refuse its message', async (t) => {
  const ground = await createGround(t);
  const node = await DeafNode.start(t, ground, new MemoryEngine());
  const roster = await Roster.create(ground);
  await ground.database.pool.query(`ALTER TABLE notifications ADD CHECK (body <> 'bad')`);
  await node.warm(roster.conversationId);
  const bodies = ['good', 'bad', 'fine'];
  const rows = await Promise.all(
    bodies.map((body) =>
      node.send(newMessage({ ...ground, conversationId: roster.conversationId }, { body })),
    ),
  );
  t.same(
    rows.map(({ sequence }) => sequence),
    [1, 2, 3],
  );
});

t.test('a node that takes over publishes what was written and adds no later member', async (t) => {
  const ground = await createGround(t);
  const engine = new MemoryEngine<Frame>();
  const roster = await Roster.create(ground);
  // Killed between the commit and what follows it.
  const killed = await DeafNode.start(t, ground, engine, { effects: false });
  await killed.warm(roster.conversationId);
  await killed.send(newMessage({ ...ground, conversationId: roster.conversationId }));
  const notified = roster.recipients([]);
  await roster.add();

  const published: string[] = [];
  for (const recipient of roster.recipients([])) {
    await engine.subscribe(recipient, (frame) => {
      if (frame.kind === 'durable') published.push(recipient);
    });
  }
  const heir = await DeafNode.start(t, ground, engine);
  const overdue = new OverdueRows(ground.database, { has: () => false });
  const rows = await until(
    async () => {
      const taken = await overdue.take(10);
      return taken.length > 0 ? taken : undefined;
    },
    { what: 'the row of the killed node' },
  );
  for (const row of rows) await heir.effects.takeOver(row.payload as MessagesSent);
  t.same(published.sort(), notified);
  const { length } = await ground.database.kysely.selectFrom('notifications').select('id').execute();
  t.equal(length, notified.length);
});

interface MemberState {
  readonly id: string;
  readonly actorId: string;
  muted: boolean;
  gone: boolean;
}

/** A conversation whose roster changes as the API changes it, beside a model of it. */
class Roster {
  readonly conversationId: string;
  readonly #ground: Ground;
  readonly #members: MemberState[] = [];

  static async create(ground: Ground, size = 4): Promise<Roster> {
    const roster = new Roster(ground, await addConversation(ground));
    for (let count = 0; count < size; count++) await roster.add();
    return roster;
  }

  private constructor(ground: Ground, conversationId: string) {
    this.#ground = ground;
    this.conversationId = conversationId;
  }

  members(): readonly MemberState[] {
    return this.#members.filter(({ gone }) => !gone);
  }

  /** Returns the actors that a message with these mentions notifies, in order. */
  recipients(mentions: readonly string[]): string[] {
    return this.members()
      .filter(({ actorId, muted }) => !muted || mentions.includes(actorId))
      .map(({ actorId }) => actorId)
      .sort();
  }

  async add(): Promise<void> {
    const { accountId } = this.#ground;
    const actorId = newId('actor');
    await this.#ground.database.kysely
      .insertInto('actors')
      .values({
        id: actorId,
        account_id: accountId,
        type: 'user',
        name: 'Grace',
        handle: null,
        avatar_url: null,
        role_id: null,
        deactivated_at: null,
      })
      .execute();
    const { id } = await this.#underLock((tx) =>
      addParticipant(tx, { id: this.conversationId, account_id: accountId }, { type: 'user', actorId }),
    );
    this.#members.push({ id, actorId, muted: false, gone: false });
  }

  /** Adds, removes, brings back, mutes or unmutes somebody, or does nothing. */
  async change(random: Random): Promise<void> {
    const member = this.#members[random.below(this.#members.length)]!;
    switch (random.below(4)) {
      case 0:
        if (this.#members.length < 12) await this.add();
        return;
      case 1:
        member.gone = !member.gone;
        await this.#write(member, { membership: member.gone ? 'removed' : 'active' });
        return;
      case 2:
        member.muted = !member.muted;
        await this.#write(member, { notifications: member.muted ? 'muted' : 'unmuted' });
    }
  }

  async #write({ id }: MemberState, change: Parameters<typeof writeParticipant>[2]): Promise<void> {
    await this.#underLock((tx) => writeParticipant(tx, id, change));
  }

  #underLock<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.#ground.database.transaction(async (tx) => {
      await lockConversation(tx, this.conversationId);
      return work(tx);
    });
  }
}

/** The sending part of a node that no announcement of a changed right reaches. */
class DeafNode {
  readonly effects: SentEffects;
  notifiedAtCommit = 0;
  readonly #directory: ConversationDirectory;
  readonly #writePath: WritePath;

  static async start(
    t: Teardown,
    ground: Ground,
    engine: MemoryEngine<Frame>,
    { effects = true, effectsFrom }: { effects?: boolean; effectsFrom?: Promise<void> } = {},
  ): Promise<DeafNode> {
    const rights = await Rights.open(new MemoryEngine());
    const inFlight = new InFlightRows({ database: ground.database, listeners: NO_LISTENERS, log });
    const directory = new ConversationDirectory(ground.database, rights);
    const settings = new SettingsOfUsers(ground.database, rights);
    const metrics = createNodeMetrics();
    const node = new DeafNode(
      ground,
      engine,
      { directory, settings, inFlight, metrics },
      effects,
      effectsFrom,
    );
    t.teardown(async () => {
      await node.idle();
      await inFlight.close();
      await rights.close();
    });
    return node;
  }

  private constructor(
    { database }: Ground,
    engine: MemoryEngine<Frame>,
    parts: Pick<SentEffectsOptions, 'directory' | 'settings' | 'inFlight' | 'metrics'>,
    handles: boolean,
    handlesFrom?: Promise<void>,
  ) {
    const { directory, metrics } = parts;
    this.#directory = directory;
    const timeline = new Timeline(database, engine, metrics);
    this.effects = new SentEffects({ ...parts, database, files: NO_FILES, engine, timeline, log });
    this.#writePath = new WritePath({
      database,
      metrics,
      log,
      planNotifications,
      timeline,
      numbers: new Numbers({ engine, timeline, metrics }),
      maySend: () => true,
      onCommitted: async (committed) => {
        for (const { notifications } of committed.messages) if (notifications) this.notifiedAtCommit += 1;
        await handlesFrom;
        if (handles) await this.effects.committed(committed);
      },
    });
  }

  /** Reads the conversation into the node's cache. */
  async warm(conversationId: string): Promise<void> {
    await this.#directory.facts(conversationId);
  }

  async send(message: ReturnType<typeof newMessage>): Promise<{ sequence: number | null }> {
    const cached = this.#directory.facts(message.conversation_id);
    const facts = (cached instanceof Promise ? await cached : cached)!;
    const { row } = await this.#writePath.append({ message, sender: null, audience: 'internal', facts });
    return row;
  }

  async idle(): Promise<void> {
    await this.#writePath.idle();
    await this.effects.idle();
  }
}
