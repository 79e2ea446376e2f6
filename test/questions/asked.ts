import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Question } from '@parley/protocol/resources/question.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { Cases, message } from '../messages/cases.ts';
import { type CallAnswer, type CallOptions, type Refusal, refusalOf, type TestApp } from '../support/app.ts';

export const NEWEST = { headers: { 'Service-Version': NEWEST_VERSION } };

export type Asking = ChatMessage & { readonly question: Question };

export const BUTTONS = {
  text: 'Shall we sail?',
  type: 'buttons',
  options: [{ value: 'yes', label: 'Yes, now' }, { value: 'no' }],
};

/** Questions of the demo account: grace asks, by default. */
export class Questions {
  readonly cases: Cases;
  readonly #app: TestApp;

  constructor(app: TestApp) {
    this.#app = app;
    this.cases = new Cases(app);
  }

  /** Sends a message that asks. */
  ask(conversationId: string, question: object = BUTTONS, fields: object = {}, options: CallOptions = {}) {
    return this.cases.send(
      conversationId,
      { body: undefined, question, ...fields },
      { ...options, headers: { ...NEWEST.headers, ...options.headers } },
    );
  }

  async asked(...request: Parameters<Questions['ask']>): Promise<Asking> {
    return message(await this.ask(...request), 201) as Asking;
  }

  act(
    name: 'answer' | 'withdraw',
    id: string,
    body: object | undefined,
    token = this.#app.demo.users.ada.access_token,
    options: CallOptions = {},
  ): Promise<CallAnswer<Refusal>> {
    return this.#app.call('POST', `/v1/messaging/messages/${id}/actions/${name}`, {
      token,
      ...options,
      headers: { ...NEWEST.headers, ...options.headers },
      ...(body !== undefined && { body }),
    });
  }

  async answered(id: string, body: object, token?: string): Promise<Asking> {
    return message(await this.act('answer', id, body, token), 200) as Asking;
  }

  async refused(...request: Parameters<Questions['act']>): Promise<string> {
    return refusalOf(await this.act(...request));
  }

  async read(id: string, token = this.#app.demo.users.grace.access_token): Promise<Asking> {
    const answer = await this.#app.call('GET', `/v1/messaging/messages/${id}`, { token, ...NEWEST });
    return message(answer as CallAnswer<Refusal>, 200) as Asking;
  }
}
