import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Tokens } from '../../src/api/access/tokens.ts';
import { ageMessages } from '../support/aged-messages.ts';
import type { Cluster } from '../support/cluster.ts';
import type { Listener, TestNode } from '../support/node.ts';
import { removeWithdrawnFiles } from '../support/removed-files.ts';
import { storedText } from '../support/stored-text.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import {
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

interface ForgottenOptions extends StageOptions {
  /** Number of rounds, each with every way to remove a text, or with these ways. */
  readonly rounds: number;
  readonly ways?: readonly Way[];
}

interface ForgottenFigures extends Found {
  readonly texts: number;
  /** Places of the database that had the texts before. */
  readonly places: readonly string[];
  /** Worst milliseconds, by way, from the answer until no read of either node showed the text. */
  readonly worstMs: Readonly<Record<string, number>>;
}

/**
 * A text gets everywhere: into messages, files, links, revisions, notifications, stored answers,
 * runs of an agent and the caches of two nodes. After each way to remove it, no column of the
 * database has it at the commit. Within a moment no read, resume or file of either node has it, nor
 * has Redis.
 */
export const forgotten = campaign({ whole: () => ({ rounds: 20 }), run });

async function run(t: Teardown, options: ForgottenOptions): Promise<ForgottenFigures> {
  const { seed, rounds, ways = Object.keys(WAYS) as Way[] } = options;
  const ground = await openStage(t, options);
  const { cluster, nodes, postgres, database } = ground;
  const texts: Text[] = [];
  const places = new Set<string>();
  const problems: string[] = [];
  const worstMs: Record<string, number> = {};
  for (let round = 0; round < rounds; round++) {
    for (const way of ways) {
      const text = await Text.write(ground, way, `forget${seed}x${texts.length}y`);
      texts.push(text);
      for (const place of await storedText(database, text.secret)) places.add(place);
      problems.push(...(await text.remove()));
      worstMs[way] = Math.max(worstMs[way] ?? 0, await text.untilForgotten());
      problems.push(...(await text.afterwards()));
    }
  }
  await setMessagesDays(nodes[0], null);
  await removeWithdrawnFiles(postgres);
  const secrets = texts.map(({ secret }) => secret);
  problems.push(...filesWith(nodes[0].dataDir, secrets), ...(await keysWith(cluster, secrets)));
  for (const { secret, way } of texts) {
    const left = await storedText(database, secret);
    if (left.length > 0) problems.push(`${way}: ${left} has ${secret} in the end`);
  }
  return {
    texts: texts.length,
    places: [...places].sort(),
    worstMs,
    problems,
  };
}

/** Each way resolves when the text is to be gone. */
const WAYS = {
  async redact(text) {
    for (const id of await text.messageIds()) {
      const path = `/v1/messaging/messages/${id}/actions/redact`;
      expect(200, await text.anyNode().call('POST', path, { reason: 'campaign' }));
    }
  },
  async 'delete the messages'(text) {
    for (const id of await text.messageIds()) {
      expect(200, await text.anyNode().call('DELETE', `/v1/messaging/messages/${id}`));
    }
  },
  async 'delete the conversation'(text) {
    const { conversationId, ground } = text;
    expect(200, await text.anyNode().call('DELETE', `/v1/messaging/conversations/${conversationId}`));
    await purgeSoon(ground.database, ground.nodes[0], conversationId);
  },
  async erase(text) {
    expect(201, await erasePerson(text.anyNode(), text.authorId));
  },
  async sweep(text) {
    await ageMessages(text.ground.database, text.conversationId, 3);
    await until(async () => (await text.messageIds()).length === 0, { what: 'the sweep' });
  },
} satisfies Readonly<Record<string, (text: Written) => Promise<void>>>;

type Way = keyof typeof WAYS;

interface Written {
  readonly ground: Stage;
  readonly conversationId: string;
  /** Id of the person that wrote it. */
  readonly authorId: string;
  anyNode(): TestNode;
  /** Returns the ids of the messages that have the text. */
  messageIds(): Promise<string[]>;
}

/** A text in a conversation of its own, and its readers. */
class Text implements Written {
  readonly ground: Stage;
  readonly way: Way;
  readonly secret: string;
  conversationId = '';
  authorId = '';
  /** The author's token. */
  #token = '';
  #send:
    | { readonly path: string; readonly headers: Record<string, string>; readonly body: string }
    | undefined;
  #link = '';
  #listeners: readonly Listener[] = [];
  /** Frames of each listener before the removal. */
  #seen: readonly number[] = [];
  #cursors: readonly string[] = [];

  static async write(ground: Stage, way: Way, secret: string): Promise<Text> {
    const text = new Text(ground, way, secret);
    await text.#write();
    await text.#read();
    return text;
  }

  private constructor(ground: Stage, way: Way, secret: string) {
    this.ground = ground;
    this.way = way;
    this.secret = secret;
  }

  anyNode(): TestNode {
    return this.ground.random.pick(this.ground.nodes);
  }

  async messageIds(): Promise<string[]> {
    const { rows } = await this.ground.postgres.query<{ id: string }>(
      `SELECT id FROM messages WHERE conversation_id = $1 AND status = 'sent' AND position($2 IN body) > 0`,
      [this.conversationId, this.secret],
    );
    return rows.map(({ id }) => id);
  }

  async remove(): Promise<string[]> {
    this.#seen = this.#listeners.map(({ frames }) => frames.length);
    await WAYS[this.way](this);
    const left = await storedText(this.ground.database, this.secret);
    return left.length === 0 ? [] : [`${this.way}: ${left} has ${this.secret} at the commit`];
  }

  /** Returns the milliseconds for which some read still showed it. */
  async untilForgotten(): Promise<number> {
    const beganMs = performance.now();
    let shown: string[] = [];
    await until(
      async () => {
        shown = await this.#shown();
        return shown.length === 0;
      },
      { what: `${this.secret} to be forgotten after ${this.way}` },
    ).catch((error: unknown) => {
      throw new Error(`${shown}`, { cause: error });
    });
    return Math.round(performance.now() - beganMs);
  }

  /** Returns the problems in the frames since then, in the file's link, and in stored answers. */
  async afterwards(): Promise<string[]> {
    const problems: string[] = [];
    for (const [index, { frames }] of this.#listeners.entries()) {
      // A text that a job removes in steps is shown until its last step.
      const last = new Map(frames.slice(this.#seen[index]).map((frame) => [frame.data?.id, frame]));
      const shown = JSON.stringify([...last.values()]);
      if (shown.includes(this.secret))
        problems.push(`${this.way}: an open socket shows ${this.secret} again`);
    }
    for (const { socket } of this.#listeners) socket.terminate();
    const link = await fetch(this.#link);
    if ((await link.text()).includes(this.secret)) problems.push(`${this.way}: the link still has the file`);
    const replay = await this.#replay();
    if (replay.includes(this.secret)) problems.push(`${this.way}: a stored answer still has ${this.secret}`);
    return problems;
  }

  async #write(): Promise<void> {
    const { ground, secret } = this;
    const { nodes, database, postgres } = ground;
    const [node] = nodes;
    const { agent, users } = node.demo;
    this.authorId = await createPerson(node, ...this.#person());
    const tokens = await Tokens.open({ database });
    this.#token = (
      await tokens.issueAccess({ accountId: node.demo.account_id, actorId: this.authorId })
    ).token;
    const people = [this.authorId, users.grace.id, users.vera.id];
    const body = {
      type: 'group',
      title: 'Secrets',
      participants: [
        ...people.map((actor_id) => ({ type: 'user', actor_id })),
        { type: 'agent', actor_id: agent.actor_id },
      ],
    };
    const { id } = expect(201, await node.call('POST', '/v1/messaging/conversations', body));
    this.conversationId = String(id);
    this.#listeners = await Promise.all(
      nodes.map((one) => one.listen(this.conversationId, { token: users.grace.access_token })),
    );
    this.#cursors = this.#listeners.map(({ cursor }) => cursor);

    expect(200, await setHold(node, this.conversationId, 'held'));
    const key = await uploadText(node, `${secret}.txt`, secret, this.#token);
    this.#send = {
      path: `/v1/messaging/conversations/${this.conversationId}/messages`,
      headers: {
        ...node.headers(this.#token),
        ...(this.#isStored && { 'Idempotency-Key': secret.toUpperCase() }),
      },
      body: JSON.stringify({
        body: `${secret} first`,
        client_message_id: 'secret',
        mentions: [users.grace.id, ...(this.#isQuoted ? [agent.actor_id] : [])],
        attachments: [
          { kind: 'file', s3_key: key },
          { kind: 'link', url: `https://example.com/${secret}` },
        ],
      }),
    };
    const sent = JSON.parse(await this.#replay());
    expect(
      200,
      await node.call(
        'PATCH',
        `/v1/messaging/messages/${sent.id}`,
        { body: `${secret} second` },
        this.#token,
      ),
    );
    expect(200, await setHold(node, this.conversationId, 'released'));
    await until(async () => (await this.messageIds()).length === (this.#isQuoted ? 2 : 1), {
      what: 'the answer of the agent',
    });
    await until(async () => (await this.#openRuns()) === 0, { what: 'the end of its run' });
    await until(async () => (await postgres.query('SELECT FROM outbox')).rowCount === 0, {
      what: 'the effects of both',
    });
  }

  async #openRuns(): Promise<number> {
    const { rowCount } = await this.ground.postgres.query(
      'SELECT FROM agent_runs WHERE conversation_id = $1 AND completed_at IS NULL',
      [this.conversationId],
    );
    return rowCount!;
  }

  /** Sends it, or gets the stored answer. */
  async #replay(): Promise<string> {
    const { path, headers, body } = this.#send!;
    const answer = await fetch(`${this.anyNode().baseUrl}${path}`, { method: 'POST', headers, body });
    return answer.text();
  }

  /** Returns name and address, which have the text if the person is to be erased. */
  #person(): [name: string, email: string] {
    const [name, address] = this.way === 'erase' ? [this.secret, this.secret] : ['A Person', `${Date.now()}`];
    return [`${name} Person`, `${address}@example.com`];
  }

  /**
   * Whether an agent answers and quotes it: an erasure and a deletion leave the messages and runs
   * of other authors unchanged.
   */
  get #isQuoted(): boolean {
    return this.way !== 'delete the messages' && this.way !== 'erase';
  }

  /**
   * Whether its answer is stored, so that a deletion leaves it there for a day
   * (docs/contract.md#editing-and-deleting).
   */
  get #isStored(): boolean {
    return this.way !== 'delete the messages';
  }

  /** Reads through every cache, which keep what is read repeatedly. */
  async #read(): Promise<void> {
    const wanted = 'include[]=attachments&limit=100';
    const { body } = await this.ground.nodes[0].call(
      'GET',
      `/v1/messaging/conversations/${this.conversationId}/messages?${wanted}`,
    );
    const [first] = (body.data as { attachments: { url: string }[] | null }[]).flatMap(
      ({ attachments }) => attachments ?? [],
    );
    this.#link = first!.url;
    for (let time = 0; time < 3; time++)
      await Promise.all(this.ground.nodes.map((node) => this.#listedBy(node)));
    await this.#shown();
  }

  /** Returns the reads of either node that show the text. */
  async #shown(): Promise<string[]> {
    const { nodes, database } = this.ground;
    const shown = await Promise.all(nodes.map((node, index) => this.#shownBy(node, index)));
    return [...shown.flat(), ...(await storedText(database, this.secret))];
  }

  /** Returns the lists and resources of this node that show it. */
  async #listedBy(node: TestNode): Promise<string[]> {
    const { conversationId, secret } = this;
    const grace = node.demo.users.grace.access_token;
    const reads: (readonly [path: string, token?: string])[] = [
      [`/v1/messaging/conversations/${conversationId}/messages?limit=100&include[]=attachments`],
      [`/v1/messaging/conversations/${conversationId}/messages?limit=100`, grace],
      [`/v1/messaging/conversations/${conversationId}/audit?limit=100`],
      [`/v1/messaging/conversations/${conversationId}`, grace],
      ['/v1/messaging/conversations?limit=100', grace],
      ['/v1/messaging/notifications?limit=100', grace],
      [`/v1/messaging/notifications?limit=100&q=${secret}`, grace],
      [`/v1/ai/agents/${node.demo.agent.id}/runs?limit=100`],
    ];
    const shown: string[] = [];
    for (const [path, token] of reads) {
      const { body } = await node.call('GET', path, undefined, token);
      if (JSON.stringify(body).includes(secret)) shown.push(path);
    }
    return shown;
  }

  async #shownBy(node: TestNode, index: number): Promise<string[]> {
    const { conversationId, secret } = this;
    const grace = node.demo.users.grace.access_token;
    const shown = await this.#listedBy(node);
    const options = [{ afterSequence: 0 }, { afterSequence: 0, cursor: this.#cursors[index]! }];
    for (const one of options) {
      const listener = await node.tryListen(conversationId, { token: grace, ...one });
      if (JSON.stringify(listener.frames).includes(secret)) shown.push('a socket');
      listener.socket.terminate();
    }
    return shown.map((what) => `node ${index}: ${what}`);
  }
}

function filesWith(dataDir: string, secrets: readonly string[]): string[] {
  const entries = readdirSync(dataDir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .flatMap(({ parentPath, name }) => {
      const bytes = readFileSync(join(parentPath, name));
      return secrets.filter((secret) => bytes.includes(secret)).map((secret) => `${name} has ${secret}`);
    });
}

/** Returns the keys of Redis whose uncompressed values have a secret. */
async function keysWith({ redis: { url } }: Cluster, secrets: readonly string[]): Promise<string[]> {
  const redis = new Redis(url);
  try {
    await redis.config('SET', 'rdbcompression', 'no');
    const keys = await redis.keys('*');
    const found: string[] = [];
    for (const key of keys) {
      const bytes = (await redis.dumpBuffer(key)) ?? Buffer.alloc(0);
      found.push(
        ...secrets.filter((secret) => bytes.includes(secret)).map((it) => `${key} in Redis has ${it}`),
      );
    }
    return found;
  } finally {
    redis.disconnect();
  }
}
