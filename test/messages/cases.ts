import { randomUUID } from 'node:crypto';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { NewParticipant } from '../../src/core/conversations/rows/participant-store.ts';
import type { CallAnswer, CallOptions, Refusal, TestApp } from '../support/app.ts';

/** A customer case of its own, with its customer's token. */
export interface Case {
  readonly id: string;
  readonly customerId: string;
  readonly customerToken: string;
}

/** Conversations of the demo account, and their messages. */
export class Cases {
  readonly #app: TestApp;

  constructor(app: TestApp) {
    this.#app = app;
  }

  /** Ada owns it, grace is a participant, and so are the given ones. */
  async open(...others: NewParticipant[]): Promise<Case> {
    const { demo, database } = this.#app;
    const accountId = demo.account_id;
    const { id: customerId } = await createCustomer(database, { accountId, name: 'Cleo' });
    const id = await this.conversation('customer', { type: 'customer', actorId: customerId }, ...others);
    return { id, customerId, customerToken: await this.#app.tokenOf(customerId) };
  }

  async conversation(audience: 'internal' | 'customer', ...others: NewParticipant[]): Promise<string> {
    const { account_id: accountId, users } = this.#app.demo;
    const { conversation } = await this.#app.database.transaction((tx) =>
      createConversation(tx, {
        accountId,
        type: 'group',
        title: 'Pier',
        audience,
        participants: [
          { type: 'user', actorId: users.ada.id, role: 'owner' },
          { type: 'user', actorId: users.grace.id },
          ...others,
        ],
      }),
    );
    return conversation.id;
  }

  /** Send Message: as grace, with a body and a new client_message_id by default. */
  send(
    conversationId: string,
    fields: object = {},
    { query = '', ...options }: CallOptions & { query?: string } = {},
  ): Promise<CallAnswer<Refusal>> {
    return this.#app.call('POST', `/v1/messaging/conversations/${conversationId}/messages?${query}`, {
      token: this.#app.demo.users.grace.access_token,
      ...options,
      body: { body: 'ahoy', client_message_id: randomUUID(), ...fields },
    });
  }

  /** A send that must succeed. */
  async sent(...request: Parameters<Cases['send']>): Promise<ChatMessage> {
    return message(await this.send(...request), 201);
  }

  /** A draft that must succeed. */
  draft(conversationId: string, fields: object = {}, options: Parameters<Cases['send']>[2] = {}) {
    return this.sent(conversationId, { mode: 'draft', channel: 'message', ...fields }, options);
  }

  /** The key of a file of two bytes that grace has uploaded. */
  async upload(filename: string): Promise<string> {
    const { body } = await this.#app.call<{
      s3_key: string;
      url: string;
      headers: Record<string, string>;
    }>('POST', '/v1/messaging/attachments/upload-url', {
      token: this.#app.demo.users.grace.access_token,
      body: { filename, content_type: 'text/plain', size_bytes: 2 },
    });
    const { url, headers, s3_key } = body;
    const { status } = await fetch(url, { method: 'PUT', headers, body: 'hi' });
    if (status >= 300) throw new Error(`the upload was answered ${status}`);
    return s3_key;
  }

  async read(id: string, query = ''): Promise<ChatMessage> {
    const { access_token: token } = this.#app.demo.users.grace;
    return message(await this.#app.call('GET', `/v1/messaging/messages/${id}?${query}`, { token }), 200);
  }

  /** An action of the message, as grace by default. */
  act(
    name: 'reject' | 'approve' | 'cancel' | 'send-now',
    id: string,
    { query = '', ...options }: CallOptions & { query?: string } = {},
  ): Promise<CallAnswer<Refusal>> {
    return this.#app.call('POST', `/v1/messaging/messages/${id}/actions/${name}?${query}`, {
      token: this.#app.demo.users.grace.access_token,
      ...options,
    });
  }

  /** The workflow status, and the one behind it. */
  async lanes(conversationId: string): Promise<[string | null, string | null]> {
    const { workflow_status, lane_behind } = await this.#app.database.kysely
      .selectFrom('conversations')
      .select(['workflow_status', 'lane_behind'])
      .where('id', '=', conversationId)
      .executeTakeFirstOrThrow();
    return [workflow_status, lane_behind];
  }

  /** Returns the audit of a message, oldest first. */
  async audited(conversationId: string) {
    const rows = await this.#app.database.kysely
      .selectFrom('audit_events')
      .select(['action', 'actor_id', 'details'])
      .where('conversation_id', '=', conversationId)
      .orderBy('created_at')
      .execute();
    return rows.filter(({ details }) => 'message_id' in details);
  }

  /**
   * Sets columns of the conversation behind the API: what decides under its lock sees them at once.
   */
  async set(
    conversationId: string,
    columns: { status?: 'active' | 'archived'; legal_hold?: 'held' | 'released' },
  ): Promise<void> {
    await this.#app.database.kysely
      .updateTable('conversations')
      .set(columns)
      .where('id', '=', conversationId)
      .execute();
  }

  /**
   * Changes a participant behind the API. Before the conversation was read for the first time: it
   * is cached.
   */
  async setParticipant(
    conversationId: string,
    actorId: string,
    columns: { role?: 'owner' | 'admin' | 'member' | 'viewer'; membership?: 'removed' },
  ): Promise<void> {
    await this.#app.database.kysely
      .updateTable('participants')
      .set(columns)
      .where('conversation_id', '=', conversationId)
      .where('actor_id', '=', actorId)
      .execute();
  }
}

/** The message that a request must have been answered with. */
export function message({ status, text }: CallAnswer<unknown>, expected: number): ChatMessage {
  if (status !== expected) throw new Error(`${status} ${text}`);
  return JSON.parse(text);
}

export function user(actorId: string, role: NewParticipant['role'] = 'member'): NewParticipant {
  return { type: 'user', actorId, ...(role !== undefined && { role }) };
}

export function shownActor(id: string, type: string, name: string | null, handle: string | null) {
  return { id, object: 'actor', type, name, handle, avatar_url: null, role: null };
}
