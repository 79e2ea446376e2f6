/** An app with a store, which native-child.ts runs: `chat` is called from native.test.ts. */

import { type Client, connect, type LiveConversation } from '../index.ts';
import { type AppStorage, appActivity, openStore } from '../native/index.ts';

interface Place {
  readonly url: string;
  readonly account: string;
  readonly actor: string;
  readonly token: string;
  readonly conversation: string;
}

declare const storage: AppStorage;

/** The app's own state, as React Native has it. */
const appState = {
  currentState: 'active',
  listeners: new Set<() => void>(),
  addEventListener(_type: 'change', listener: () => void) {
    this.listeners.add(listener);
    return { remove: () => void this.listeners.delete(listener) };
  },
};
const errors: string[] = [];
const clients: Client[] = [];
const views: LiveConversation[] = [];

const chat = {
  /** Opens a client, each with a store of its own. */
  open({ conversation, ...place }: Place): void {
    const store = openStore({ storage, ...place });
    const client = connect({ ...place, store, activity: appActivity(appState), mostWaitMs: 200 });
    client.on('error', ({ reason, message }) => errors.push(`${reason}: ${message}`));
    clients.push(client);
    views.push(client.conversation(conversation));
  },
  turn(state: string): void {
    appState.currentState = state;
    for (const listener of appState.listeners) listener();
  },
  /** Does not wait until the server has it. */
  send(body: string, from = 0): void {
    void views[from]!.send({ body, client_message_id: body });
  },
  async typed(body: string): Promise<string> {
    return (await views[0]!.send(body)).id;
  },
  shown: (from = 0) => views[from]!.messages.map(({ delivery, body }) => `${delivery} ${body}`),
  states: () => clients.map(({ state, transport }) => `${state} ${transport}`),
  errors: () => errors,
  /** Returns how a request without a connection ends. */
  late: (ms: number) =>
    clients[0]!.request('presence', { status: 'away' }, { timeoutMs: ms }).then(
      () => 'answered',
      (error: Error) => `${error.name}: ${error.message}`,
    ),
  close(): void {
    for (const client of clients) client.close();
  },
};

Object.assign(globalThis, { chat });
