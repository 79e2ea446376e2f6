import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { ageMessages } from '../support/aged-messages.ts';
import type { TestNode } from '../support/node.ts';
import { removeWithdrawnFiles } from '../support/removed-files.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import {
  type Answer,
  createPerson,
  erasePerson,
  expect,
  openStage,
  purgeSoon,
  type Stage,
  type StageOptions,
  setHold,
  setMessagesDays,
  uploadText,
} from './account.ts';
import { campaign, type Found } from './campaign.ts';

interface HoldsOptions extends StageOptions {
  readonly interleavings: number;
}

interface HoldsFigures extends Found {
  readonly interleavings: number;
  /** Interleavings whose hold was set before anything was removed, and after. */
  readonly heldFirst: number;
  readonly heldLater: number;
  /** Acts that were done, and acts that were refused, by name. */
  readonly done: Readonly<Record<string, number>>;
  readonly refused: Readonly<Record<string, number>>;
}

/** Number of concurrent interleavings. */
const WIDTH = 8;

/** Longest pause in ms before a request, about as long as a request. */
const JITTER_MS = 30;

/**
 * A legal hold is set at the same moment as messages are redacted, deleted, swept and erased and
 * conversations are deleted, over two nodes. All that existed when the hold was answered is there
 * in the end, files and revisions included, and every further try is refused. Once released,
 * everything goes.
 */
export const holds = campaign({ whole: () => ({ interleavings: 1_000 }), run });

async function run(t: Teardown, options: HoldsOptions): Promise<HoldsFigures> {
  const { interleavings } = options;
  const stage = await openStage(t, options);
  const { cluster, nodes, postgres, database } = stage;
  const persons = await createPersons(nodes[0], Math.ceil(interleavings / 25));
  const ground: Ground = { ...stage, persons, done: {}, refused: {} };

  const races: Race[] = [];
  const next = Array.from({ length: interleavings }, (_, n) => n);
  await Promise.all(
    Array.from({ length: WIDTH }, async () => {
      while (next.pop() !== undefined) races.push(await Race.run(ground));
    }),
  );
  const problems: string[] = [];
  await inParallel(races, (race) => race.tryAll());
  for (const personId of ground.persons) await erasePerson(nodes[0], personId);
  await removeWithdrawnFiles(postgres);
  await inParallel(races, async (race) => problems.push(...(await race.losses())));

  await inParallel(races, (race) => race.release());
  await inParallel(races, ({ conversationId }) => ageMessages(database, conversationId, 3));
  await until(async () => (await countMessages(postgres, races)) === 0, {
    what: 'all that was released to go',
  });
  await removeWithdrawnFiles(postgres);
  problems.push(...(await leftovers(postgres, races, cluster.nodes[0])));
  await setMessagesDays(nodes[0], null);
  return {
    interleavings,
    heldFirst: races.filter(({ isHeldFirst }) => isHeldFirst).length,
    heldLater: races.filter(({ isHeldFirst }) => !isHeldFirst).length,
    done: ground.done,
    refused: ground.refused,
    problems,
  };
}

interface Ground extends Stage {
  /** Actor ids. */
  readonly persons: readonly string[];
  readonly done: Record<string, number>;
  readonly refused: Record<string, number>;
}

/**
 * The ground of an act: a conversation with three messages, the first with a file and a revision.
 */
interface Scene {
  readonly ground: Ground;
  readonly conversationId: string;
  /** The author of the second and the third message. */
  readonly personId: string;
  readonly messageIds: readonly [string, string, string];
}

/** Ways to remove something; undefined if nothing answers. */
const ACTS = {
  redact: ({ messageIds: [id] }, node) =>
    node.call('POST', `/v1/messaging/messages/${id}/actions/redact`, { reason: 'campaign' }),
  delete: ({ messageIds: [, id] }, node) => node.call('DELETE', `/v1/messaging/messages/${id}`),
  'delete with its file': ({ messageIds: [id] }, node) => node.call('DELETE', `/v1/messaging/messages/${id}`),
  'delete the conversation': ({ conversationId }, node) =>
    node.call('DELETE', `/v1/messaging/conversations/${conversationId}`),
  async 'delete the conversation for good'({ ground: { database }, conversationId }, node) {
    const answer = await node.call('DELETE', `/v1/messaging/conversations/${conversationId}`);
    await purgeSoon(database, node, conversationId);
    return answer;
  },
  erase: ({ personId }, node) => erasePerson(node, personId),
  async sweep({ ground: { database }, conversationId }) {
    await ageMessages(database, conversationId, 3);
    return undefined;
  },
} satisfies Readonly<Record<string, (scene: Scene, node: TestNode) => Promise<Answer | undefined>>>;

type ActName = keyof typeof ACTS;

/** One conversation, a hold, and the acts against it. */
class Race implements Scene {
  readonly ground: Ground;
  readonly conversationId: string;
  readonly personId: string;
  readonly messageIds: Scene['messageIds'];
  readonly #acts: readonly ActName[];
  /** Contents that existed when the hold was answered. */
  #held: readonly Stored[] = [];
  #atFirst: readonly Stored[] = [];

  static async run(ground: Ground): Promise<Race> {
    const { random } = ground;
    const personId = random.pick(ground.persons);
    const conversationId = await createConversation(ground);
    const messageIds = await fill(ground, conversationId, personId);
    const names = Object.keys(ACTS) as ActName[];
    const acts = Array.from({ length: 1 + random.below(2) }, () => random.pick(names));
    const race = new Race({ ground, conversationId, personId, messageIds }, acts);
    await race.#run();
    return race;
  }

  private constructor({ ground, conversationId, personId, messageIds }: Scene, acts: readonly ActName[]) {
    this.ground = ground;
    this.conversationId = conversationId;
    this.personId = personId;
    this.messageIds = messageIds;
    this.#acts = acts;
  }

  /** Keys of the files that it began with. */
  get files(): string[] {
    return this.#atFirst.flatMap(({ file }) => file ?? []);
  }

  get isHeldFirst(): boolean {
    return this.#held.length === this.#atFirst.length;
  }

  async #run(): Promise<void> {
    this.#atFirst = await this.#stored();
    await Promise.all([this.#hold(), ...this.#acts.map((name) => this.#try(name))]);
  }

  async #hold(): Promise<void> {
    // An act needs longer until it has locked the conversation.
    const node = await this.#anyNode(2 * JITTER_MS);
    const { status, body } = await setHold(node, this.conversationId, 'held');
    // A conversation that was purged meanwhile cannot be held.
    if (status === 404) return;
    if (status !== 200) throw new Error(`the hold was answered ${status}: ${JSON.stringify(body)}`);
    this.#held = await this.#stored();
  }

  async #try(name: ActName): Promise<Answer | undefined> {
    const node = await this.#anyNode();
    const answer = await ACTS[name](this, node);
    if (answer === undefined) return undefined;
    const counts = answer.status < 300 ? this.ground.done : this.ground.refused;
    counts[name] = (counts[name] ?? 0) + 1;
    return answer;
  }

  /** Returns a random node after a moment. */
  async #anyNode(mostMs = JITTER_MS): Promise<TestNode> {
    const { random, nodes } = this.ground;
    const node = random.pick(nodes);
    await pause(random.below(mostMs));
    return node;
  }

  /** Does every act but the erasure, one after the other. */
  async tryAll(): Promise<void> {
    const { random, nodes } = this.ground;
    for (const [name, act] of Object.entries(ACTS)) {
      // Each person has written in many conversations.
      if (name !== 'erase') await act(this, random.pick(nodes));
    }
  }

  /** Returns the contents at the answer to the hold that are now gone or changed. */
  async losses(): Promise<string[]> {
    const now = new Map((await this.#stored()).map(({ what, value }) => [what, value]));
    const lost = this.#held.filter(({ what, value }) => now.get(what) !== value);
    const late = await this.ground.postgres.query<{ id: string }>(
      `SELECT m.id FROM messages m WHERE m.conversation_id = $1 AND m.deleted_at > (
         SELECT max(e.created_at) FROM audit_events e
         WHERE e.conversation_id = $1 AND e.action = 'conversation.legal_hold_set' AND e.details->>'to' = 'held')`,
      [this.conversationId],
    );
    return [
      ...lost.map(
        ({ what }) => `${this.#acts.join(' and ')} took ${what} from the held ${this.conversationId}`,
      ),
      ...late.rows.map(({ id }) => `${id} was removed after its hold by ${this.#acts.join(' or ')}`),
    ];
  }

  async release(): Promise<void> {
    await setHold(this.ground.nodes[0], this.conversationId, 'released');
  }

  /** Returns every text, attachment, revision and file of the conversation. */
  async #stored(): Promise<Stored[]> {
    const { postgres, nodes } = this.ground;
    const { rows } = await postgres.query<Stored>(STORED, [this.conversationId]);
    return rows.flatMap((row) => [
      row,
      ...(row.file === null
        ? []
        : [{ ...row, what: `file of ${row.what}`, value: String(isOnDisk(nodes[0], row.file)) }]),
    ]);
  }
}

interface Stored {
  readonly what: string;
  readonly value: string;
  /** For attachments, the key of the file. */
  readonly file: string | null;
}

const STORED = `
  SELECT 'conversation' AS what, CASE WHEN c.deleted_at IS NULL THEN 'present' ELSE 'deleted' END AS value, NULL AS file
  FROM conversations c WHERE c.id = $1
  UNION ALL
  SELECT m.id, m.body, NULL FROM messages m
  WHERE m.conversation_id = $1 AND m.deleted_at IS NULL
  UNION ALL
  SELECT 'attachment ' || a.id, a.filename, a.s3_key FROM attachments a WHERE a.conversation_id = $1
  UNION ALL
  SELECT 'revision ' || r.revision || ' of ' || r.message_id, r.body, NULL
  FROM message_revisions r JOIN messages m ON m.id = r.message_id WHERE m.conversation_id = $1`;

function createPersons(node: TestNode, count: number): Promise<string[]> {
  return Promise.all(
    Array.from({ length: count }, (_, n) =>
      createPerson(node, `Person ${n}`, `person-${n}-${Date.now()}@example.com`),
    ),
  );
}

/** Adds three messages, two of them by the person. Returns their ids. */
async function fill(ground: Ground, conversationId: string, personId: string): Promise<Scene['messageIds']> {
  const { nodes, random, postgres } = ground;
  const node = random.pick(nodes);
  const key = await uploadText(node, 'plan.txt', 'plan');
  const send = async (fields: object) =>
    String(expect(201, await node.send(conversationId, { ...fields })).id);
  const first = await send({ attachments: [{ kind: 'file', s3_key: key }] });
  const ids = [first, await send({}), await send({})] as const;
  expect(200, await setHold(node, conversationId, 'held'));
  expect(200, await node.call('PATCH', `/v1/messaging/messages/${first}`, { body: 'edited' }));
  expect(200, await setHold(node, conversationId, 'released'));
  await postgres.query('UPDATE messages SET author_id = $2, sender_id = $2 WHERE id = ANY($1)', [
    ids.slice(1),
    personId,
  ]);
  return ids;
}

async function createConversation({ nodes, random }: Ground): Promise<string> {
  const participants = [{ type: 'user', actor_id: nodes[0].demo.users.grace.id }];
  const body = { type: 'group', title: 'Race', participants };
  const answer = await random.pick(nodes).call('POST', '/v1/messaging/conversations', body);
  return String(expect(201, answer).id);
}

async function countMessages(postgres: pg.Pool, races: readonly Race[]): Promise<number> {
  await pause(100);
  const { rowCount } = await postgres.query(
    "SELECT FROM messages WHERE conversation_id = ANY($1) AND status <> 'void'",
    [races.map(({ conversationId }) => conversationId)],
  );
  return rowCount!;
}

/** Returns the leftovers of conversations without messages. */
async function leftovers(postgres: pg.Pool, races: readonly Race[], node: TestNode): Promise<string[]> {
  const { rows } = await postgres.query<{ what: string }>(
    `SELECT 'attachment ' || id AS what FROM attachments WHERE conversation_id = ANY($1)
     UNION ALL SELECT 'revision of ' || message_id FROM message_revisions WHERE conversation_id = ANY($1)`,
    [races.map(({ conversationId }) => conversationId)],
  );
  const files = races.flatMap(({ files }) => files).filter((key) => isOnDisk(node, key));
  return [...rows.map(({ what }) => `${what} is left`), ...files.map((key) => `the file ${key} is left`)];
}

function isOnDisk({ dataDir }: TestNode, key: string): boolean {
  return existsSync(join(dataDir, 'uploads', key));
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: WIDTH }, async () => {
      for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
    }),
  );
}
