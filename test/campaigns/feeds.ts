import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Notification, NotificationSummary } from '@parley/protocol/resources/notification.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import { newReader, type Reader } from '../notifications/readers.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface FeedsOptions extends Seeded {
  readonly histories: number;
}

interface FeedsFigures extends Found {
  readonly histories: number;
  readonly steps: number;
  readonly pages: number;
}

const LANES = 4;
const STEPS = 8;
const PATH = '/v1/messaging/notifications';

/**
 * Random histories of a conversation (sends alone and at once, mentions, mutes, edits, deletions,
 * marks) against a slow model. After each, the feeds of its three users, their pages, filters and
 * counts are those of the model.
 */
export const feeds = campaign({ whole: () => ({ histories: 1_000 }), run });

async function run(t: Teardown, { seed, histories }: FeedsOptions): Promise<FeedsFigures> {
  const app = await startTestApp(t);
  const figures = { seed, histories, steps: 0, pages: 0, problems: [] as string[] };
  const seeds = Array.from({ length: histories }, (_, n) => seed * 1_000_000 + n);
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      const users = [
        await newReader(app, 'member'),
        await newReader(app, 'member'),
        await newReader(app, 'member'),
      ];
      for (let next = seeds.shift(); next !== undefined; next = seeds.shift()) {
        const history = await History.begin(app, users, next);
        try {
          for (let step = 0; step < STEPS; step++) await history.step();
          const pages = await history.check();
          figures.pages += pages;
        } catch (error) {
          figures.problems.push(`history ${next}: ${error instanceof Error ? error.message : error}`);
        }
        figures.steps += STEPS;
      }
    }),
  );
  return figures;
}

type Status = Notification['status'];

/** A notification of the model. */
interface Noted {
  readonly messageId: string;
  readonly authorId: string;
  readonly category: string;
  body: string | null;
  status: Status;
}

interface User extends Reader {
  readonly participantId: string;
  isMuted: boolean;
  /** Newest first, the dismissed ones included. */
  feed: Noted[];
}

/** The states that a move leads from, and the state it leads to. */
const MOVES = {
  see: { from: ['unseen'], to: 'seen' },
  read: { from: ['unseen', 'seen'], to: 'read' },
  dismiss: { from: ['unseen', 'seen', 'read'], to: 'dismissed' },
} as const satisfies Record<string, { from: readonly Status[]; to: Status }>;

class History {
  readonly #app: TestApp;
  readonly #random: Random;
  readonly #conversationId: string;
  readonly #users: readonly User[];
  #messages: { readonly id: string; readonly author: User }[] = [];
  #words = 0;

  /** Begins a conversation of these users, whose feeds are emptied. */
  static async begin(app: TestApp, readers: readonly Reader[], seed: number): Promise<History> {
    const { conversation, participants } = await app.database.transaction((tx) =>
      createConversation(tx, {
        accountId: app.demo.account_id,
        type: 'group',
        title: 'Pier',
        participants: readers.map(({ id }) => ({ type: 'user', actorId: id })),
      }),
    );
    const users: User[] = [];
    for (const reader of readers) {
      await answer(app, reader, 'POST', `${PATH}/actions/mark-all`, { status: 'dismissed' });
      const { id } = participants.find(({ actor_id }) => actor_id === reader.id)!;
      users.push({ ...reader, participantId: id, isMuted: false, feed: [] });
    }
    return new History(app, new Random(seed), conversation.id, users);
  }

  private constructor(app: TestApp, random: Random, conversationId: string, users: readonly User[]) {
    this.#app = app;
    this.#random = random;
    this.#conversationId = conversationId;
    this.#users = users;
  }

  async step(): Promise<void> {
    const dice = this.#random.below(12);
    if (dice < 3) await this.#send(1);
    else if (dice < 5) await this.#send(2 + this.#random.below(4));
    else if (dice < 6) await this.#mute();
    else if (dice < 7) await this.#edit();
    else if (dice < 8) await this.#delete();
    else if (dice < 11) await this.#mark();
    else await this.#markAll();
  }

  /** Throws an Error with the first difference. Returns the number of pages that it read. */
  async check(): Promise<number> {
    let pages = 0;
    for (const user of this.#users) {
      const visible = user.feed.filter(({ status }) => status !== 'dismissed');
      const [someone] = this.#users.filter((other) => other !== user);
      const cases: [query: string, expected: Noted[]][] = [
        ['', visible],
        ...(['unseen', 'seen', 'read'] as const).map((status): [string, Noted[]] => [
          `status=${status}`,
          visible.filter((one) => one.status === status),
        ]),
        ['category=chat.mention', visible.filter(({ category }) => category === 'chat.mention')],
        [`sender_ids[]=${someone!.id}`, visible.filter(({ authorId }) => authorId === someone!.id)],
        ['sender_types[]=system', []],
        ['q=WORD+1', visible.filter(({ body }) => body?.includes('word 1'))],
      ];
      // Edits and deletions reach notifications through the outbox.
      let present = '';
      const isThere = async () => {
        present = shown(await this.#list(user, 'limit=100'));
        return present === modelled(visible);
      };
      await until(isThere, { what: 'the feed' }).catch(() => {
        throw new Error(`the feed is\n${present}\ninstead of\n${modelled(visible)}`);
      });
      for (const [query, expected] of cases) {
        const limit = 1 + this.#random.below(7);
        const { data, read } = await this.#walk(user, `${query}&limit=${limit}`);
        pages += read;
        if (shown(data) !== modelled(expected)) {
          throw new Error(`${query}, ${limit} a page:\n${shown(data)}\ninstead of\n${modelled(expected)}`);
        }
      }
      const counts = await answer<NotificationSummary>(this.#app, user, 'GET', `${PATH}/summary`);
      const expected = {
        unseen: visible.filter(({ status }) => status === 'unseen').length,
        unread: visible.filter(({ status }) => status !== 'read').length,
        total: visible.length,
      };
      const { object: _, ...counted } = counts;
      if (JSON.stringify(counted) !== JSON.stringify(expected)) {
        throw new Error(`counted ${JSON.stringify(counted)} instead of ${JSON.stringify(expected)}`);
      }
    }
    return pages;
  }

  async #send(count: number): Promise<void> {
    const sends = Array.from({ length: count }, async () => {
      const author = this.#random.pick(this.#users);
      const mentions = this.#users.filter(() => this.#random.below(4) === 0).map(({ id }) => id);
      const body = this.#body();
      const path = `/v1/messaging/conversations/${this.#conversationId}/messages`;
      const fields = { body, mentions, client_message_id: randomUUID() };
      return {
        author,
        mentions,
        body,
        sent: await answer<ChatMessage>(this.#app, author, 'POST', path, fields),
      };
    });
    const written = await Promise.all(sends);
    written.sort((a, b) => a.sent.sequence! - b.sent.sequence!);
    for (const { author, mentions, body, sent } of written) {
      this.#messages.push({ id: sent.id, author });
      for (const user of this.#users) {
        const isMention = mentions.includes(user.id);
        if (user === author || (user.isMuted && !isMention)) continue;
        const category = isMention ? 'chat.mention' : 'chat.message';
        user.feed.unshift({ messageId: sent.id, authorId: author.id, category, body, status: 'unseen' });
      }
    }
  }

  async #mute(): Promise<void> {
    const user = this.#random.pick(this.#users);
    user.isMuted = !user.isMuted;
    const path = `/v1/messaging/conversations/${this.#conversationId}/participants/${user.participantId}`;
    await answer(this.#app, user, 'PATCH', path, { notifications: user.isMuted ? 'muted' : 'unmuted' });
  }

  async #edit(): Promise<void> {
    const message = this.#pickMessage();
    if (message === undefined) return;
    const body = this.#body();
    await answer(this.#app, message.author, 'PATCH', `/v1/messaging/messages/${message.id}`, { body });
    for (const noted of this.#of(message.id)) noted.body = body;
  }

  async #delete(): Promise<void> {
    const message = this.#pickMessage();
    if (message === undefined) return;
    await answer(this.#app, message.author, 'DELETE', `/v1/messaging/messages/${message.id}`);
    this.#messages = this.#messages.filter((one) => one !== message);
    for (const noted of this.#of(message.id)) noted.status = 'dismissed';
  }

  async #mark(): Promise<void> {
    const user = this.#random.pick(this.#users);
    const { data } = await this.#list(user, 'limit=100');
    const noted = user.feed.filter(({ status }) => status !== 'dismissed');
    // A deletion may still be on its way to the list.
    if (data.length !== noted.length || data.length === 0) return;
    const index = this.#random.below(data.length);
    const move = this.#random.pick(Object.keys(MOVES) as (keyof typeof MOVES)[]);
    await answer(this.#app, user, 'POST', `${PATH}/${data[index]!.id}/actions/${move}`);
    apply(noted[index]!, move);
  }

  async #markAll(): Promise<void> {
    const user = this.#random.pick(this.#users);
    const move = this.#random.pick(Object.keys(MOVES) as (keyof typeof MOVES)[]);
    await answer(this.#app, user, 'POST', `${PATH}/actions/mark-all`, { status: MOVES[move].to });
    for (const noted of user.feed) apply(noted, move);
  }

  #pickMessage() {
    return this.#messages.length === 0 ? undefined : this.#random.pick(this.#messages);
  }

  #of(messageId: string): Noted[] {
    return this.#users.flatMap(({ feed }) => feed.filter((noted) => noted.messageId === messageId));
  }

  #body(): string {
    this.#words += 1;
    return `word ${this.#words}`;
  }

  #list(user: User, query: string): Promise<List<Notification>> {
    return answer(this.#app, user, 'GET', `${PATH}?${query}`);
  }

  /** Reads all pages forwards, and the first page again, backwards from the second. */
  async #walk(user: User, query: string): Promise<{ data: readonly Notification[]; read: number }> {
    let page = await this.#list(user, query);
    const first = page;
    const data = [...page.data];
    let read = 1;
    while (page.page_info.next_page_url !== null) {
      page = await answer(this.#app, user, 'GET', page.page_info.next_page_url);
      data.push(...page.data);
      read += 1;
      if (read === 2) {
        const back: List<Notification> = await answer(
          this.#app,
          user,
          'GET',
          page.page_info.previous_page_url!,
        );
        if (shown(back) !== shown(first)) throw new Error(`${query}: the first page differs on the way back`);
      }
    }
    return { data, read };
  }
}

function apply(noted: Noted, move: keyof typeof MOVES): void {
  const { from, to } = MOVES[move];
  if ((from as readonly Status[]).includes(noted.status)) noted.status = to;
}

function shown(rows: List<Notification> | readonly Notification[]): string {
  const data = 'data' in rows ? rows.data : rows;
  return data.map(({ category, status, body }) => `${category} ${status} ${body}`).join('\n');
}

function modelled(rows: readonly Noted[]): string {
  return rows.map(({ category, status, body }) => `${category} ${status} ${body}`).join('\n');
}

async function answer<Body>(
  app: TestApp,
  { token }: Reader,
  method: string,
  path: string,
  body?: object,
): Promise<Body> {
  const { status, text, body: answered } = await app.call<Body>(method, path, { token, body });
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  return answered;
}
