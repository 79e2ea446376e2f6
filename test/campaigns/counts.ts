import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import type { Notification, NotificationSummary } from '@parley/protocol/resources/notification.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import pg from 'pg';
import { type Cluster, startCluster } from '../support/cluster.ts';
import type { TestNode } from '../support/node.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { createPerson, expect } from './account.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface CountsOptions extends Seeded {
  readonly histories: number;
  /** Default: a cluster of its own. */
  readonly cluster?: Cluster;
}

interface CountsFigures extends Found {
  readonly histories: number;
  /** Number of acts, by name. */
  readonly acts: Readonly<Record<string, number>>;
  /** Comparisons of a user's counts on a node. */
  readonly compared: number;
}

const LANES = 8;
const USERS = 3;
const ROUNDS = 6;
const TOKEN_USED_MS = 5 * 60 * 1_000;
const FEED = '/v1/messaging/notifications';
const CONVERSATIONS = '/v1/messaging/conversations';

/**
 * Random histories of three users' conversations over two nodes: sends, mentions, mutes, reading,
 * marks as unread, marks of one and of all notifications and conversations, deletions, some at the
 * same moment. After each, the counts of notifications, of a conversation's messages and of unread
 * conversations on both nodes equal a slow re-count of what was acknowledged, and in the end the
 * counts of the rows.
 */
export const counts = campaign({ whole: () => ({ histories: 10_000 }), run });

async function run(t: Teardown, { seed, histories, cluster: given }: CountsOptions): Promise<CountsFigures> {
  const cluster = given ?? (await startCluster(t));
  const nodes = [cluster.nodes[0].at(NEWEST_VERSION), cluster.nodes[1].at(NEWEST_VERSION)] as const;
  const figures = { acts: {} as Record<string, number>, compared: 0, problems: [] as string[] };
  const seeds = Array.from({ length: histories }, (_, n) => seed * 1_000_000 + n);
  const lanes = await Promise.all(
    Array.from({ length: Math.min(LANES, histories) }, async (_, lane) => {
      const users = await Promise.all(
        Array.from({ length: USERS }, (_, n) => User.create(nodes[0], `counts-${seed}-${lane}-${n}`)),
      );
      for (let next = seeds.shift(); next !== undefined; next = seeds.shift()) {
        try {
          await Promise.all(users.map((user) => user.renew(nodes[0])));
          const history = new History(nodes, users, new Random(next), figures.acts);
          await history.run();
          const compared = (await agreeing(nodes, users)) + (await history.unreadAgreeing());
          figures.compared += compared;
        } catch (error) {
          figures.problems.push(`history ${next}: ${error instanceof Error ? error.message : error}`);
          // The model of these users no longer fits.
          break;
        }
      }
      return users;
    }),
  );
  if (figures.problems.length === 0) {
    await outboxDone(t, cluster.databaseUrl);
    for (const users of lanes) figures.compared += await agreeing(nodes, users);
    figures.problems.push(...(await rowsThatDiffer(t, cluster.databaseUrl, lanes.flat())));
    figures.problems.push(...(await inboxRowsThatDiffer(t, cluster.databaseUrl, lanes.flat())));
  }
  return { histories, ...figures };
}

const RANKS = ['unseen', 'seen', 'read', 'dismissed'] as const;
type Status = (typeof RANKS)[number];

/** A notification of the model. */
interface Noted {
  readonly conversationId: string;
  /** The number of the message; 0 if the notification is about the conversation. */
  readonly sequence: number;
  status: Status;
}

type Count = Pick<NotificationSummary, 'unseen' | 'unread' | 'total'>;

class User {
  readonly id: string;
  token = '';
  #issuedAtMs = Number.NEGATIVE_INFINITY;
  /** Notifications by the id of the message, or of the conversation. */
  readonly noted = new Map<string, Noted>();
  /** The user's read position in each conversation. */
  readonly positions = new Map<string, number>();
  /** The messages sent in each of its conversations. */
  readonly timelines = new Map<string, readonly Sent[]>();

  static async create(node: TestNode, name: string): Promise<User> {
    const user = new User(await createPerson(node, name, `${name}@example.com`));
    await user.renew(node);
    return user;
  }

  private constructor(id: string) {
    this.id = id;
  }

  /** Gets a new access token unless the present one is young: each ends after fifteen minutes. */
  async renew(node: TestNode): Promise<void> {
    if (performance.now() - this.#issuedAtMs < TOKEN_USED_MS) return;
    this.#issuedAtMs = performance.now();
    const issued = expect(201, await node.call('POST', '/v1/auth/tokens', { user_id: this.id }));
    this.token = String(issued.access_token);
  }

  note(key: string, noted: Omit<Noted, 'status'>): void {
    this.noted.set(key, { ...noted, status: 'unseen' });
  }

  /** Raises the status, which is never taken back. */
  raise(noted: Noted, to: Status): void {
    if (RANKS.indexOf(to) > RANKS.indexOf(noted.status)) noted.status = to;
  }

  read(conversationId: string, sequence: number): void {
    this.positions.set(conversationId, Math.max(sequence, this.positions.get(conversationId) ?? 0));
  }

  /** Moves the position back; notifications read before stay read. */
  unread(conversationId: string, sequence: number): void {
    this.count();
    this.positions.set(conversationId, Math.min(sequence - 1, this.positions.get(conversationId) ?? 0));
  }

  /** Returns a slow re-count of unread messages. */
  unreadIn(conversationId: string): number {
    const position = this.positions.get(conversationId) ?? 0;
    const unread = (this.timelines.get(conversationId) ?? []).filter(
      ({ author, sequence, isDeleted }) => author !== this && sequence > position && !isDeleted,
    );
    return unread.length;
  }

  get unreadConversations(): readonly string[] {
    return [...this.timelines.keys()].filter((id) => this.unreadIn(id) > 0);
  }

  /** Returns a slow re-count. */
  count(): Count {
    const count = { unseen: 0, unread: 0, total: 0 };
    for (const noted of this.noted.values()) {
      const position = this.positions.get(noted.conversationId) ?? 0;
      if (position > 0 && noted.sequence <= position) this.raise(noted, 'read');
      if (noted.status === 'unseen') count.unseen += 1;
      if (noted.status === 'unseen' || noted.status === 'seen') count.unread += 1;
      if (noted.status !== 'dismissed') count.total += 1;
    }
    return count;
  }
}

interface Sent {
  readonly id: string;
  readonly author: User;
  readonly sequence: number;
  isDeleted: boolean;
}

class History {
  readonly #nodes: readonly [TestNode, TestNode];
  readonly #users: readonly User[];
  readonly #random: Random;
  readonly #acts: Record<string, number>;
  readonly #participants = new Map<string, string>();
  readonly #muted = new Set<User>();
  readonly #sent: Sent[] = [];
  #conversationId = '';

  constructor(
    nodes: readonly [TestNode, TestNode],
    users: readonly User[],
    random: Random,
    acts: Record<string, number>,
  ) {
    this.#nodes = nodes;
    this.#users = users;
    this.#random = random;
    this.#acts = acts;
  }

  async run(): Promise<void> {
    await this.#begin();
    for (let round = 0; round < ROUNDS; round++) {
      const alone = this.#random.below(10);
      if (alone === 0) await this.#markAll(this.#random.pick(this.#users));
      if (alone === 1) await this.#toggleMute(this.#random.pick(this.#users));
      if (alone === 2) await this.#unread(this.#random.pick(this.#users), this.#random.pick(this.#sent));
      if (alone === 3) await this.#readAll(this.#random.pick(this.#users));
      if (alone <= 3) continue;
      const acts = [this.#act(), ...(this.#random.below(2) === 0 ? [this.#act()] : [])];
      await Promise.all(acts.map((act) => act()));
    }
  }

  async #begin(): Promise<void> {
    const [owner, ...others] = this.#users as [User, ...User[]];
    const participants = others.map(({ id }) => ({ type: 'user', actor_id: id }));
    const body = { type: 'group', title: 'Counted', participants };
    const made = await this.#call<Conversation>(201, 'POST', '/v1/messaging/conversations', body, owner);
    this.#conversationId = made.id;
    const path = `/v1/messaging/conversations/${made.id}/participants`;
    const members = await this.#call<List<Participant>>(200, 'GET', path, undefined, owner);
    for (const { id, actor } of members.data) this.#participants.set(actor?.id ?? '', id);
    for (const user of this.#users) user.timelines.set(made.id, this.#sent);
    for (const user of others) user.note(made.id, { conversationId: made.id, sequence: 0 });
    await agreeing(this.#nodes, others);
    await this.#send(owner, []);
  }

  /** Returns an act whose order against another act does not matter; draws its parts now. */
  #act(): () => Promise<void> {
    const random = this.#random;
    const user = random.pick(this.#users);
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
        return () => this.#send(user, random.below(4) === 0 ? [random.pick(this.#users)] : []);
      case 3:
      case 4: {
        const { sequence } = random.pick(this.#sent);
        return () => this.#read(user, sequence);
      }
      case 5:
      case 6: {
        const [move, nth] = [random.pick(['see', 'read', 'dismiss'] as const), random.below(5)];
        return () => this.#mark(user, move, nth);
      }
      default: {
        const sent = random.pick(this.#sent);
        return random.below(2) === 0 ? () => this.#delete(sent) : () => this.#read(user, sent.sequence);
      }
    }
  }

  async #send(author: User, mentioned: readonly User[]): Promise<void> {
    const mentions = mentioned.filter((user) => user !== author).map(({ id }) => id);
    const answer = await this.#node().send(this.#conversationId, { mentions }, author.token);
    const { id, sequence } = expect(201, answer) as unknown as ChatMessage;
    for (const user of this.#users) {
      if (user === author || (this.#muted.has(user) && !mentions.includes(user.id))) continue;
      user.note(id, { conversationId: this.#conversationId, sequence: sequence! });
    }
    this.#sent.push({ id, author, sequence: sequence!, isDeleted: false });
    this.#did('sent');
  }

  async #read(user: User, sequence: number): Promise<void> {
    const path = `/v1/messaging/conversations/${this.#conversationId}/actions/mark-read`;
    await this.#call(200, 'POST', path, { sequence }, user);
    user.read(this.#conversationId, sequence);
    this.#did('read');
  }

  async #unread(user: User, { sequence }: Sent): Promise<void> {
    // Notifications not yet marked behind the old position would be found behind the new one.
    await until(() => this.#shows(user), { what: 'the feed as the model has it' });
    const path = `${CONVERSATIONS}/${this.#conversationId}/actions/mark-unread`;
    await this.#call(200, 'POST', path, { sequence }, user);
    user.unread(this.#conversationId, sequence);
    this.#did('unread');
  }

  async #readAll(user: User): Promise<void> {
    const path = `${CONVERSATIONS}/actions/mark-all-read`;
    const { unread } = await this.#call<InboxSummary>(200, 'POST', path, undefined, user);
    if (unread > 0) throw new Error(`${unread} conversations are unread once all are read`);
    for (const id of user.unreadConversations) {
      user.read(id, Math.max(...user.timelines.get(id)!.map(({ sequence }) => sequence)));
    }
    this.#did('readAll');
  }

  /**
   * Compares without waiting: acknowledged messages are counted at once, on both nodes. Returns the
   * number of compared answers.
   */
  async unreadAgreeing(): Promise<number> {
    let compared = 0;
    for (const user of this.#users) {
      for (const node of this.#nodes) {
        const ask = async <Body>(path: string) =>
          expect(200, await node.call('GET', path, undefined, user.token)) as Body;
        const id = this.#conversationId;
        const wanted = user.unreadIn(id);
        const { unread } = await ask<Conversation>(`${CONVERSATIONS}/${id}`);
        if (unread !== wanted) throw new Error(`${unread} unread messages in place of ${wanted}`);
        const summary = await ask<InboxSummary>(`${CONVERSATIONS}/summary`);
        const inAll = user.unreadConversations.length;
        if (summary.unread !== inAll) throw new Error(`${summary.unread} unread in place of ${inAll}`);
        const page = await ask<List<Conversation>>(`${CONVERSATIONS}?order=activity&filter=unread&limit=100`);
        const isListed = page.data.some((one) => one.id === id);
        if (inAll <= 100 && isListed !== wanted > 0) throw new Error(`listed as unread: ${isListed}`);
        compared += 3;
      }
    }
    return compared;
  }

  async #mark(user: User, move: 'see' | 'read' | 'dismiss', nth: number): Promise<void> {
    const page = await this.#call<List<Notification>>(
      200,
      'GET',
      `${FEED}?limit=5&include[]=resource`,
      undefined,
      user,
    );
    const shown = page.data[nth];
    const noted = shown && user.noted.get(shown.message_id ?? shown.resource!.id);
    if (noted === undefined) return;
    const { status } = await this.#node().call(
      'POST',
      `${FEED}/${shown!.id}/actions/${move}`,
      undefined,
      user.token,
    );
    // It was dismissed at the same moment.
    if (status === 409) return;
    if (status !== 200) throw new Error(`${move} was answered ${status}`);
    user.raise(noted, ({ see: 'seen', read: 'read', dismiss: 'dismissed' } as const)[move]);
    this.#did(move);
  }

  async #markAll(user: User): Promise<void> {
    // Notifications still on their way would stay as they are.
    await until(() => this.#shows(user), { what: 'the feed as the model has it' });
    const status = this.#random.pick(['seen', 'read', 'dismissed'] as const);
    await this.#call(200, 'POST', `${FEED}/actions/mark-all`, { status }, user);
    for (const noted of user.noted.values()) user.raise(noted, status);
    this.#did('markAll');
  }

  /**
   * Returns whether the newest entries of the feed have exactly the model's entries and states of
   * this conversation.
   */
  async #shows(user: User): Promise<boolean> {
    user.count();
    const page = await this.#call<List<Notification>>(200, 'GET', `${FEED}?limit=100`, undefined, user);
    const states = new Map(page.data.map(({ message_id, status }) => [message_id, status]));
    return this.#sent.every(({ id }) => {
      const { status = 'dismissed' } = user.noted.get(id) ?? {};
      return (states.get(id) ?? 'dismissed') === status;
    });
  }

  async #toggleMute(user: User): Promise<void> {
    const notifications = this.#muted.has(user) ? 'unmuted' : 'muted';
    const path = `/v1/messaging/conversations/${this.#conversationId}/participants/${this.#participants.get(user.id)}`;
    await this.#call(200, 'PATCH', path, { notifications }, user);
    if (!this.#muted.delete(user)) this.#muted.add(user);
    this.#did(notifications);
  }

  async #delete(sent: Sent): Promise<void> {
    const { id, author } = sent;
    const { status } = await this.#node().call(
      'DELETE',
      `/v1/messaging/messages/${id}`,
      undefined,
      author.token,
    );
    if (status !== 200 && status !== 410) throw new Error(`a deletion was answered ${status}`);
    sent.isDeleted = true;
    for (const user of this.#users) {
      const noted = user.noted.get(id);
      if (noted !== undefined) user.raise(noted, 'dismissed');
    }
    this.#did('deleted');
  }

  async #call<Body>(
    status: number,
    method: string,
    path: string,
    body: object | undefined,
    { token }: User,
  ): Promise<Body> {
    return expect(status, await this.#node().call(method, path, body, token)) as Body;
  }

  #node(): TestNode {
    return this.#random.pick(this.#nodes);
  }

  #did(act: string): void {
    this.#acts[act] = (this.#acts[act] ?? 0) + 1;
  }
}

/**
 * Waits until both nodes answer the counts of the model. Returns the number of compared answers.
 */
async function agreeing(nodes: readonly TestNode[], users: readonly User[]): Promise<number> {
  for (const user of users) {
    for (const node of nodes) {
      const wanted = user.count();
      let got: Count | undefined;
      const isRight = async () => {
        got = expect(
          200,
          await node.call('GET', `${FEED}/summary`, undefined, user.token),
        ) as unknown as Count;
        return got.unseen === wanted.unseen && got.unread === wanted.unread && got.total === wanted.total;
      };
      await until(isRight, { what: 'the counts' }).catch((error: unknown) => {
        throw new Error(`${JSON.stringify(got)} in place of ${JSON.stringify(wanted)}`, { cause: error });
      });
    }
  }
  return users.length * nodes.length;
}

/** Waits until every effect of an answered act is there. */
async function outboxDone(t: Teardown, url: string): Promise<void> {
  const pool = poolOf(t, url);
  const left = async () => (await pool.query('SELECT FROM outbox LIMIT 1')).rowCount ?? 0;
  await until(async () => (await left()) === 0, { what: 'an empty outbox' });
}

/** Returns the users whose rows, read one by one, differ from the counts of the model. */
async function rowsThatDiffer(t: Teardown, url: string, users: readonly User[]): Promise<string[]> {
  const { rows } = await poolOf(t, url).query<{ recipient_id: string; status: Status }>(
    'SELECT recipient_id, status FROM notifications WHERE recipient_id = ANY($1)',
    [users.map(({ id }) => id)],
  );
  return users.flatMap((user) => {
    const of = (...states: Status[]) =>
      rows.filter((row) => row.recipient_id === user.id && states.includes(row.status)).length;
    const { unseen, unread, total } = user.count();
    const isSame =
      of('unseen') === unseen && of('unseen', 'seen') === unread && of('unseen', 'seen', 'read') === total;
    return isSame ? [] : `the rows of ${user.id} are not those of the model`;
  });
}

/** Returns the users whose written rows of the inbox are not unread where the model is. */
async function inboxRowsThatDiffer(t: Teardown, url: string, users: readonly User[]): Promise<string[]> {
  const pool = poolOf(t, url);
  const left = async () => (await pool.query('SELECT FROM inbox_due LIMIT 1')).rowCount ?? 0;
  await until(async () => (await left()) === 0, { what: 'rows of the inbox' });
  const { rows } = await pool.query<{ actor_id: string; conversation_id: string; is_unread: boolean }>(
    'SELECT actor_id, conversation_id, is_unread FROM inbox_rows WHERE actor_id = ANY($1)',
    [users.map(({ id }) => id)],
  );
  const unread = new Set(
    rows.flatMap((row) => (row.is_unread ? `${row.actor_id} ${row.conversation_id}` : [])),
  );
  return users.flatMap((user) => {
    const isSame = [...user.timelines.keys()].every(
      (id) => unread.has(`${user.id} ${id}`) === user.unreadIn(id) > 0,
    );
    return isSame ? [] : `the inbox rows of ${user.id} are not those of the model`;
  });
}

function poolOf(t: Teardown, connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 1 });
  t.teardown(() => pool.end());
  return pool;
}
