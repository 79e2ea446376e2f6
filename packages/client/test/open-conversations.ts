import type { List } from '@parley/protocol/lists.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { TestApp } from '../../../test/support/app.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import {
  type Client,
  type ConnectOptions,
  type ConversationOptions,
  connect,
  type LiveConversation,
  type TimelineMessage,
} from '../index.ts';

type Person = 'ada' | 'grace' | 'vera';

/** Clients of the demo's people, and conversations that they have open. */
export class OpenConversations {
  readonly #app: TestApp;

  constructor(app: TestApp) {
    this.#app = app;
  }

  /** As ada by default, who is an admin. Grace is a member of the account, vera reads alone. */
  client(t: Teardown, options: Partial<ConnectOptions> & { readonly as?: Person } = {}): Client {
    const { demo, baseUrl: url } = this.#app;
    const { as = 'ada', ...rest } = options;
    const token = demo.users[as].access_token;
    const client = connect({ url, account: demo.account_id, token, mostWaitMs: 200, ...rest });
    t.teardown(() => client.close());
    return client;
  }

  /** Starts a group of ada, who owns it, and grace. */
  async group(title: string): Promise<string> {
    const { users } = this.#app.demo;
    const { body } = await this.#app.call<Conversation>('POST', '/v1/messaging/conversations', {
      token: users.ada.access_token,
      body: { type: 'group', title, participants: [{ type: 'user', actor_id: users.grace.id }] },
    });
    return body.id;
  }

  async open(
    t: Teardown,
    id: string,
    { pageSize, ...options }: ConversationOptions & Parameters<OpenConversations['client']>[1] = {},
  ): Promise<LiveConversation> {
    const conversation = this.client(t, options).conversation(id, pageSize === undefined ? {} : { pageSize });
    await conversation.opened;
    return conversation;
  }

  /** Opens a new group for both of its members. */
  async both(
    t: Teardown,
    title: string,
  ): Promise<{ mine: LiveConversation; theirs: LiveConversation; id: string }> {
    const id = await this.group(title);
    const [mine, theirs] = await Promise.all([this.open(t, id), this.open(t, id, { as: 'grace' })]);
    return { mine, theirs, id };
  }
}

export function bodiesOf({ messages }: { readonly messages: readonly TimelineMessage[] }): (string | null)[] {
  return messages.map(({ body }) => body);
}

export function byId(
  { messages }: { readonly messages: readonly TimelineMessage[] },
  id: string,
): TimelineMessage | undefined {
  return messages.find((message) => message.id === id);
}

/** Returns the items of all pages. */
export async function allOf<T>(pages: AsyncIterable<List<T>>): Promise<T[]> {
  const items: T[] = [];
  for await (const { data } of pages) items.push(...data);
  return items;
}

/** The demo's people, by what others see. */
export const NAMES: Readonly<Record<Person, string>> = {
  ada: 'Ada Lovelace',
  grace: 'Grace Hopper',
  vera: 'Vera Rubin',
};
