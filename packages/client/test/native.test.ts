/** The SDK in React Native: with the globals that it has there, and no others. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import t from 'tap';
import { freshDirectory } from '../../../test/start/parley.ts';
import { borrowTestApp } from '../../../test/support/app.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { openNetwork } from './network.ts';
import { bodiesOf, OpenConversations } from './open-conversations.ts';

const app = await borrowTestApp(t);
const { account_id: account, users } = app.demo;
const conversations = new OpenConversations(app);
const bundle = await bundled();

/** The phone of ada: a storage, a network, and one run of the app at a time. */
class Phone {
  readonly conversation: string;
  readonly #t: Teardown;
  readonly #storage: string;
  readonly #network: Awaited<ReturnType<typeof openNetwork>>;
  #child: ReturnType<typeof fork> | undefined;
  #calls = 0;

  static async start(t: Teardown): Promise<Phone> {
    const network = await openNetwork(t, app.baseUrl);
    const phone = new Phone(t, network, await conversations.group('phone'));
    await phone.run();
    return phone;
  }

  private constructor(t: Teardown, network: Awaited<ReturnType<typeof openNetwork>>, conversation: string) {
    this.#t = t;
    this.#storage = freshDirectory(t);
    this.#network = network;
    this.conversation = conversation;
  }

  async run(): Promise<void> {
    const child = fork(join(import.meta.dirname, 'native-child.ts'), [bundle, this.#storage]);
    this.#child = child;
    this.#t.teardown(() => void child.kill('SIGKILL'));
    await this.open();
  }

  /** Opens another client of the app. */
  async open(): Promise<void> {
    const { url } = this.#network;
    const { id: actor, access_token: token } = users.ada;
    await this.call('open', { url, account, actor, token, conversation: this.conversation });
  }

  async kill(): Promise<void> {
    const ended = once(this.#child!, 'exit');
    this.#child!.kill('SIGKILL');
    await ended;
  }

  async call<T = unknown>(method: string, ...args: readonly unknown[]): Promise<T> {
    const id = ++this.#calls;
    const child = this.#child!;
    const answered = new Promise<T>((resolve, reject) => {
      const hear = (answer: { id: number; result?: T; error?: string }) => {
        if (answer.id !== id) return;
        child.off('message', hear);
        if (answer.error === undefined) resolve(answer.result as T);
        else reject(new Error(answer.error));
      };
      child.on('message', hear);
    });
    child.send({ id, method, args });
    return answered;
  }

  async shows(expected: readonly string[], from = 0): Promise<void> {
    let found: unknown;
    const isThere = async () => {
      found = await this.call('shown', from);
      return JSON.stringify(found) === JSON.stringify(expected);
    };
    await until(isThere, { what: `${expected}` }).catch((error: Error) => {
      throw new Error(`${error.message}, but ${JSON.stringify(found)}`);
    });
  }

  async live(): Promise<void> {
    const states = () => this.call<string[]>('states');
    await until(async () => (await states()).every((state) => state === 'live websocket'), { what: 'live' });
  }

  away(): void {
    this.#network.target = 'http://127.0.0.1:1';
    this.#network.cut();
  }

  back(): void {
    this.#network.target = app.baseUrl;
  }
}

t.test('connects, follows and sends, and goes away in the background', async (t) => {
  const phone = await Phone.start(t);
  const grace = await conversations.open(t, phone.conversation, { as: 'grace' });
  await phone.live();
  await grace.send('ahoy');
  await phone.shows(['sent ahoy']);
  t.type(await phone.call('typed', 'aye'), 'string');
  await until(() => bodiesOf(grace).includes('aye'), { what: 'the answer' });

  const reader = conversations.client(t, { as: 'grace' });
  const query = `actor_ids[]=${users.ada.id}`;
  const isShown = (wanted: string) => async () => {
    const { data } = await reader.fetch<{ data: { status: string }[] }>(`/v1/messaging/presence?${query}`);
    return data[0]?.status === wanted;
  };
  await until(isShown('online'), { what: 'online' });
  await phone.call('turn', 'background');
  await until(isShown('away'), { what: 'away' });
  await phone.call('turn', 'active');
  await until(isShown('online'), { what: 'online again' });
  t.strictSame(await phone.call('errors'), []);
});

t.test('written offline, then the app is killed: sent once and in order', async (t) => {
  const phone = await Phone.start(t);
  const grace = await conversations.open(t, phone.conversation, { as: 'grace' });
  await phone.live();
  phone.away();
  for (const body of ['1', '2']) await phone.call('send', body);
  await phone.shows(['pending 1', 'pending 2']);
  await phone.kill();

  await phone.run();
  await phone.open();
  await phone.shows(['pending 1', 'pending 2']);
  await phone.call('send', '3', 1);
  for (const client of [0, 1]) await phone.shows(['pending 1', 'pending 2', 'pending 3'], client);
  t.equal(await phone.call('late', 20), 'TimeoutError: No answer within 20 ms.');
  phone.back();
  await phone.call('turn', 'active');
  for (const client of [0, 1]) await phone.shows(['sent 1', 'sent 2', 'sent 3'], client);
  await until(() => grace.messages.length === 3, { what: 'the messages' });
  t.strictSame(bodiesOf(grace), ['1', '2', '3']);
  const errors = await phone.call<string[]>('errors');
  t.ok(errors.length > 0);
  t.strictSame(
    errors.filter((error) => !error.startsWith('network: ')),
    [],
  );
  await phone.call('close');
});

/** Returns the file of native-app.ts with the SDK in one script. */
async function bundled(): Promise<string> {
  const file = join(freshDirectory(t), 'app.js');
  const build = await rolldown({ input: join(import.meta.dirname, 'native-app.ts'), platform: 'neutral' });
  await build.write({ file, format: 'iife', codeSplitting: false });
  await build.close();
  return file;
}
