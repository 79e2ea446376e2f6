import { newId } from '@parley/protocol/ids.ts';
import { HOOKS } from '../../src/app/features.ts';
import { createNodeMetrics, type NodeMetrics } from '../../src/app/metrics.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { Engine } from '../../src/core/frames/engine.ts';
import type { NewMessage } from '../../src/core/messages/rows/new-message.ts';
import { LockedWrites } from '../../src/core/messages/timeline/locked-write.ts';
import { Numbers } from '../../src/core/messages/timeline/numbers.ts';
import type { Committed } from '../../src/core/messages/timeline/outgoing.ts';
import { Timeline } from '../../src/core/messages/timeline/timeline.ts';
import { WritePath } from '../../src/core/messages/timeline/write-path.ts';
import { planNotifications } from '../../src/core/notifications/causes/notify.ts';
import type { MessageRow } from '../../src/core/resources/message.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { createLog } from '../../src/platform/log.ts';
import { NO_FILES } from './files.ts';
import { createTestDatabase } from './postgres.ts';
import type { Teardown } from './teardown.ts';

export const log = createLog('silent');

/** For InFlightRows without listeners to events. */
export const NO_LISTENERS = { revision: '0', renew: async () => {} };

/** For parts that look by themselves, or that a test wakes. */
export const NO_WATCH = { add: () => {} };

/** A database with one account, one author and one conversation to write to. */
export interface Ground {
  readonly url: string;
  readonly database: Database;
  readonly accountId: string;
  readonly authorId: string;
  readonly conversationId: string;
}

export async function createGround(t: Teardown): Promise<Ground> {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log, hooks: HOOKS });
  t.teardown(() => database.close());
  const accountId = newId('account');
  const authorId = newId('actor');
  await database.kysely.insertInto('accounts').values({ id: accountId, name: 'Harbor' }).execute();
  await database.kysely
    .insertInto('actors')
    .values({
      id: authorId,
      account_id: accountId,
      type: 'user',
      name: 'Ada',
      handle: null,
      avatar_url: null,
      role_id: null,
      deactivated_at: null,
    })
    .execute();
  const ground = { url, database, accountId, authorId };
  return { ...ground, conversationId: await addConversation({ ...ground, conversationId: '' }) };
}

export async function addConversation(ground: Ground): Promise<string> {
  const { conversation } = await ground.database.transaction((tx) =>
    createConversation(tx, {
      accountId: ground.accountId,
      type: 'group',
      title: 'Pier',
      participants: [{ type: 'user', actorId: ground.authorId }],
    }),
  );
  return conversation.id;
}

/** Opens both write paths of a node over the ground, with everything that they committed. */
export function openWritePath(
  ground: Ground,
  engine: Engine,
  options: { database?: Database; maySend?: () => boolean } = {},
): {
  writePath: WritePath;
  lockedWrites: LockedWrites;
  timeline: Timeline;
  committed: Committed[];
  metrics: NodeMetrics;
} {
  const database = options.database ?? ground.database;
  const metrics = createNodeMetrics();
  const timeline = new Timeline(database, engine, metrics);
  const committed: Committed[] = [];
  const writes = {
    database,
    files: NO_FILES,
    numbers: new Numbers({ engine, timeline, metrics }),
    timeline,
    metrics,
    log,
    planNotifications,
    maySend: options.maySend ?? (() => true),
    onCommitted: async (batch: Committed) => void committed.push(batch),
  };
  return {
    writePath: new WritePath(writes),
    lockedWrites: new LockedWrites(writes),
    timeline,
    committed,
    metrics,
  };
}

/** The default author and conversation of a message. */
type Author = Pick<Ground, 'accountId' | 'authorId' | 'conversationId'>;

export function newMessage(ground: Author, fields: Partial<NewMessage> = {}): NewMessage {
  return {
    id: newId('message'),
    account_id: ground.accountId,
    conversation_id: ground.conversationId,
    kind: 'chat',
    visibility: 'internal',
    channel: 'message',
    body: 'ahoy',
    subject: null,
    cc: null,
    mentions: null,
    sender_id: ground.authorId,
    author_id: ground.authorId,
    reply_to_id: null,
    resource_type: null,
    resource_id: null,
    agent_run_id: null,
    streaming_state: null,
    client_message_id: newId('message'),
    attachments: [],
    ...fields,
  };
}

export function outgoing(ground: Ground, fields: Partial<NewMessage> = {}) {
  return { message: newMessage(ground, fields), sender: null, audience: 'internal' as const };
}

/** Returns every number of a conversation with its state, in order. */
export function numbers(
  ground: Ground,
  conversationId = ground.conversationId,
): Promise<Pick<MessageRow, 'sequence' | 'status' | 'client_message_id'>[]> {
  return ground.database.query(
    statement<[conversationId: string], Pick<MessageRow, 'status' | 'sequence' | 'client_message_id'>>(
      'test-numbers',
    )`
    SELECT sequence, status, client_message_id FROM messages
        WHERE conversation_id = $1 AND sequence IS NOT NULL ORDER BY sequence`,
    conversationId,
  );
}
