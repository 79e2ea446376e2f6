import { type Insertable, sql } from 'kysely';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { Schema } from '../../src/platform/db/tables/schema.ts';
import type { Client, Ground, ReceivedFrame } from './fixture.ts';

/** The changes that a socket missed, made from rows: nothing here is published. */
export class Missed {
  readonly #ground: Ground;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** A group of ada's and of those that are named. */
  async newConversation(...actorIds: string[]): Promise<string> {
    const { demo, database } = this.#ground;
    const { conversation } = await database.transaction((tx) =>
      createConversation(tx, {
        accountId: demo.account_id,
        type: 'group',
        title: 'Pier',
        participants: [demo.users.ada.id, ...actorIds].map((actorId) => ({ type: 'user', actorId })),
      }),
    );
    return conversation.id;
  }

  async insertMessage(
    conversationId: string,
    fields: Partial<Insertable<Schema['messages']>> & { readonly id: string },
  ): Promise<void> {
    const { demo, database } = this.#ground;
    await database.kysely
      .insertInto('messages')
      .values({
        account_id: demo.account_id,
        conversation_id: conversationId,
        kind: 'chat',
        status: 'sent',
        visibility: 'internal',
        body: 'ahoy',
        author_id: demo.users.ada.id,
        sender_id: demo.users.ada.id,
        created_at: '2026-01-01T00:00:00Z',
        updated_at: '2026-01-01T00:00:00Z',
        ...fields,
      })
      .execute();
  }

  /**
   * Makes a participant one that was added now. A cursor is ten seconds old when it is handed out:
   * whether the making of the demo account is behind it depends on the machine.
   */
  async addedNow(participantId: string): Promise<void> {
    await sql`UPDATE participants SET changed_in = pg_current_xact_id() WHERE id = ${participantId}`.execute(
      this.#ground.database.kysely,
    );
  }

  /** As every write of a streamed row ends. */
  async change(what: string, where: string): Promise<void> {
    const text = `UPDATE ${what}, updated_at = later_than(updated_at), changed_in = pg_current_xact_id()
      WHERE ${where}`;
    await sql.raw(text).execute(this.#ground.database.kysely);
  }
}

/** Resumes and answers what comes behind the reply, through its `resumed`. */
export async function resume(
  client: Client,
  cursor: unknown,
  conversations: Readonly<Record<string, number>>,
): Promise<ReceivedFrame[]> {
  const reply = await client.request('resume', { cursor, conversations });
  if (reply.ok !== true) throw new Error(JSON.stringify(reply));
  const start = client.frames.indexOf(reply) + 1;
  const isLast = ({ type }: ReceivedFrame, index: number) => index >= start && type === 'resumed';
  const last = await client.frame((frame) => isLast(frame, client.frames.indexOf(frame)));
  return client.frames
    .slice(start, client.frames.indexOf(last) + 1)
    .filter(({ type }) => type !== 'ping' && type !== 'reply');
}

/** Returns the cursor of a socket that has seen nothing, and has closed. */
export async function cursorOf(client: Client): Promise<unknown> {
  const { cursor } = await client.frame('ready');
  client.close();
  return cursor;
}

export function eventOf(frames: readonly ReceivedFrame[], name: string): ReceivedFrame | undefined {
  return frames.find((frame) => frame.event === name);
}

/**
 * Returns the frames of one conversation, without those that exist only because the conversation is
 * younger than the cursor.
 */
export function timelineOf(frames: readonly ReceivedFrame[], id: string): ReceivedFrame[] {
  return frames.filter(
    ({ conversation_id, event = '' }) =>
      conversation_id === id && !/^(participant|conversation)\./.test(event),
  );
}

/** Returns the numbers of the messages that arrive as new. */
export function created(frames: readonly ReceivedFrame[]): (number | undefined)[] {
  return frames.filter(({ event }) => event === 'message.created').map(({ sequence }) => sequence);
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}
