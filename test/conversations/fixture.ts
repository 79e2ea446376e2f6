import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { CallAnswer, CallOptions, TestApp } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';

export const PATH = '/v1/messaging/conversations';

/**
 * Requests about conversations that must succeed; ada is the caller unless `options` state
 * otherwise.
 */
export class Conversations {
  readonly #app: TestApp;

  constructor(app: TestApp) {
    this.#app = app;
  }

  get ada(): string {
    return this.#app.demo.users.ada.access_token;
  }

  /** Creates a group of ada, unless `body` states otherwise. */
  async create(body: object = {}, options: CallOptions = {}): Promise<Conversation> {
    return this.ok('POST', PATH, { body: { type: 'group', participants: [], ...body }, ...options });
  }

  /** A case of ada's with a new customer. */
  async createCase(body: object = {}): Promise<{ conversation: Conversation; customer: Participant }> {
    const conversation = await this.ok('POST', `${PATH}?include[]=participants`, {
      body: {
        type: 'group',
        audience: 'customer',
        participants: [{ type: 'customer', name: 'Cleo', email: newAddress('example.net') }],
        ...body,
      },
    });
    const customer = conversation.participants!.find(({ type }) => type === 'customer')!;
    return { conversation: { ...conversation, participants: null }, customer };
  }

  get(id: string, query = '', options: CallOptions = {}): Promise<Conversation> {
    return this.ok('GET', `${PATH}/${id}?${query}`, options);
  }

  update(id: string, body: object, options: CallOptions = {}): Promise<Conversation> {
    return this.ok('PATCH', `${PATH}/${id}`, { body, ...options });
  }

  async members(id: string, options: CallOptions = {}): Promise<readonly Participant[]> {
    return (await this.get(id, 'include[]=participants', options)).participants!;
  }

  add(id: string, body: object, options: CallOptions = {}): Promise<Participant> {
    return this.ok('POST', `${PATH}/${id}/participants`, { body, ...options });
  }

  /** Throws what was answered unless it is a success. */
  async ok<Body = Conversation>(method: string, path: string, options: CallOptions = {}): Promise<Body> {
    const { status, text, body } = await this.answer<Body>(method, path, options);
    if (status !== 200 && status !== 201) throw new Error(`${method} ${path}: ${status} ${text}`);
    return body;
  }

  answer<Body>(method: string, path: string, options: CallOptions = {}): Promise<CallAnswer<Body>> {
    return this.#app.call<Body>(method, path, { token: this.ada, ...options });
  }
}

/** Returns every field of a conversation without messages; `known` overrides fields. */
export function shown(known: Pick<Conversation, 'id'> & Partial<Conversation>): Conversation {
  return {
    object: 'conversation',
    type: 'group',
    audience: 'internal',
    title: null,
    workflow_status: null,
    group: null,
    status: 'active',
    legal_hold: 'released',
    assignee: null,
    participants: null,
    topic: null,
    unread: 0,
    last_message_at: null,
    last_message: null,
    created_at: '',
    updated_at: known.created_at ?? '',
    ...known,
  };
}

export function actor(id: string, type: string, name: string, handle: string | null = null) {
  return { id, object: 'actor', type, name, handle, avatar_url: null, role: null };
}
