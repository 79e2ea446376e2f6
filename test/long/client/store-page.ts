/** A page with a store, which store.test.ts opens in a browser: `chat` is called from there. */

import { type Client, connect, type Inbox, type LiveConversation } from '@parley/client';
import { openStore } from '@parley/client/store';

interface Place {
  readonly url: string;
  readonly account: string;
  readonly actor: string;
  /** In place of the actor. */
  readonly name?: string;
  readonly token: string;
  readonly conversation?: string;
}

const errors: string[] = [];
const posts: string[] = [];
let store: ReturnType<typeof openStore>;
let client: Client;
let view: LiveConversation | undefined;
let inbox: Inbox | undefined;

const counting: typeof fetch = async (input, init) => {
  const { client_message_id: key } = init?.method === 'POST' ? JSON.parse(String(init.body ?? '{}')) : {};
  const response = await fetch(input, init);
  if (key !== undefined && response.ok) posts.push(key);
  return response;
};

const chat = {
  errors,
  /** The keys of the messages that the server has taken from this page. */
  posts,
  open({ url, account, actor, name, token, conversation }: Place): void {
    const pages = { limitMb: 1 };
    store = openStore(name === undefined ? { account, actor, pages } : { account, name, pages });
    client = connect({ url, account, token, store, fetch: counting, mostWaitMs: 200 });
    client.on('error', ({ reason, error, key }) => {
      if (reason === 'store')
        errors.push([...(key === undefined ? [] : [key]), (error as Error).name].join(' '));
    });
    view = conversation === undefined ? undefined : client.conversation(conversation);
  },
  /** Does not wait until the server has it. */
  send(...bodies: string[]): void {
    for (const body of bodies) view?.send({ body, client_message_id: body });
  },
  sendTo(conversation: string, body: string): void {
    void client.conversation(conversation).send({ body, client_message_id: body });
  },
  refused(): Promise<unknown> | undefined {
    const gone = { body: 'x', client_message_id: 'x', reply_to_message_id: 'msg_none' };
    return view?.send(gone).catch(() => undefined);
  },
  discard: (key: string) => view?.discard(key),
  shown: () =>
    view?.messages.map(({ delivery, key, body }) => `${delivery} ${key === body ? '' : `${key}: `}${body}`),
  /** What it opens at the next visit, too. */
  openInbox(): void {
    inbox ??= client.inbox();
  },
  titles: () => inbox?.snapshot.conversations.map(({ title }) => title),
  edit: (body: string) => {
    const last = view?.messages.at(-1);
    if (last?.id) view?.edit(last.id, body).catch(() => {});
  },
  reasons: () => view?.messages.map((message) => ('error' in message ? message.error?.name : undefined)),
  stored: async () => (await store.all()).map(({ key }) => key),
  async signOut(): Promise<void> {
    client.close();
    await store.clear();
  },
};

Object.assign(globalThis, { chat });
