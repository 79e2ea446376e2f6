/**
 * Durable sends by careful use of Fastify, pg and Socket.IO with its Redis adapter. Known
 * credentials and rosters are in maps; the body is checked and the answer written by schema. Both
 * rows are in one transaction of prepared statements on a pool; then events go to the rooms of the
 * conversation and of the recipient.
 */

import { inspect } from 'node:util';
import { newId } from '@parley/protocol/ids.ts';
import { createAdapter } from '@socket.io/redis-adapter';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import pg from 'pg';
import { Server } from 'socket.io';
import { connectionOptions } from '../../src/platform/db/connection/connection-options.ts';
import { insertOf, type SendSample } from '../lib/insert-script.ts';
import { listening } from './delivery-loop.ts';
import { schemaOf } from './schema-of.ts';

/** The runner's first message. */
export interface WrittenStart {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly accountId: string;
  /** A message as Parley answers it, whose fields this server's messages share. */
  readonly shape: Readonly<Record<string, unknown>>;
  /** The rows that a send of Parley leaves. */
  readonly sample: SendSample;
  /** The actor behind each token. */
  readonly callers: Readonly<Record<string, Caller>>;
  /** The actors in each conversation. */
  readonly rosters: Readonly<Record<string, readonly string[]>>;
}

interface Caller {
  readonly id: string;
  readonly type: string;
  readonly name: string;
}

interface MessageRow {
  readonly id: string;
  readonly conversation_id: string;
  readonly body: string;
  readonly created_at: string;
}

interface NotificationRow {
  readonly id: string;
  readonly recipient_id: string;
}

interface Sent {
  readonly message: MessageRow;
  readonly notifications: readonly NotificationRow[];
}

const start = await new Promise<WrittenStart>((resolve) => process.once('message', resolve));
const callers = new Map(Object.entries(start.callers));
const rosters = new Map(Object.entries(start.rosters));
const pool = new pg.Pool({
  ...connectionOptions({ url: start.databaseUrl, statementTimeoutMs: 8_000, queryTimeoutMs: 0 }),
  max: 10,
  // A request waits in line for a client for this long, however busy the disk is.
  connectionTimeoutMillis: 10_000,
});

// The product's table of conversations has no counter.
await pool.query(`
  CREATE TABLE conversation_heads (id text PRIMARY KEY, sequence bigint NOT NULL)`);
await pool.query({
  text: `
    INSERT INTO conversation_heads
    SELECT conversation_id, max(sequence) FROM messages WHERE conversation_id = ANY($1) GROUP BY conversation_id`,
  values: [[...rosters.keys()]],
});

const SHOWN =
  'id, conversation_id, sequence, kind, status, visibility, body, client_message_id, created_at, updated_at';
/** The columns that a send of Parley fills, with the same values except for this send's own. */
const message = insertOf('messages', start.sample.message, {
  id: '$1',
  account_id: '$2',
  conversation_id: '$3',
  sequence: 'head.sequence',
  body: '$4',
  sender_id: '$5',
  author_id: '$5',
  client_message_id: '$6',
});
const INSERT_MESSAGE = {
  name: 'insert-message',
  text: `
    WITH head AS (UPDATE conversation_heads SET sequence = sequence + 1 WHERE id = $3 RETURNING sequence)
    ${message.into} SELECT ${message.values} FROM head
    ON CONFLICT (conversation_id, author_id, client_message_id) WHERE client_message_id IS NOT NULL DO NOTHING
    RETURNING ${SHOWN}`,
};
const notification = insertOf('notifications', start.sample.notification, {
  id: 'notification_id($1, $2, r.id)',
  account_id: '$3',
  recipient_id: 'r.id',
  title: '$4',
  body: 'left($5, 140)',
  sender_id: '$6',
  resource_id: '$7',
  message_id: '$2',
  created_at: '$1',
  updated_at: '$1',
});
const INSERT_NOTIFICATIONS = {
  name: 'insert-notifications',
  text: `
    ${notification.into} SELECT ${notification.values} FROM unnest($8::text[]) AS r(id)
    RETURNING id, recipient_id, category, title, body, status, priority, resource_id, message_id, created_at,
      updated_at`,
};
const FIND_MESSAGE = {
  name: 'find-message',
  text: `
    SELECT ${SHOWN} FROM messages
    WHERE conversation_id = $1 AND author_id = $2 AND client_message_id = $3`,
};

/** Sends a message. A known client's id returns the earlier message without new effects. */
async function send(sender: Caller, recipients: string[], conversation: string, input: Body): Promise<Sent> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const { body, client_message_id: key } = input;
    const message = await client.query<MessageRow>({
      ...INSERT_MESSAGE,
      values: [newId('message'), start.accountId, conversation, body, sender.id, key],
    });
    const [row] = message.rows;
    if (row === undefined) {
      await client.query('ROLLBACK');
      const found = await client.query<MessageRow>({
        ...FIND_MESSAGE,
        values: [conversation, sender.id, key],
      });
      return { message: found.rows[0]!, notifications: [] };
    }
    const notifications = await client.query<NotificationRow>({
      ...INSERT_NOTIFICATIONS,
      values: [
        row.created_at,
        row.id,
        start.accountId,
        sender.name,
        row.body,
        sender.id,
        conversation,
        recipients,
      ],
    });
    await client.query('COMMIT');
    return { message: row, notifications: notifications.rows };
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

const BODY = {
  type: 'object',
  required: ['body'],
  additionalProperties: false,
  properties: {
    body: { type: 'string', minLength: 1, maxLength: 40_000 },
    client_message_id: { type: 'string', minLength: 1, maxLength: 255 },
  },
} as const;

interface Body {
  readonly body: string;
  readonly client_message_id?: string;
}

const app = Fastify();
// The load stops at the first refusal, and reports only its status.
app.setErrorHandler((error, _request, reply) => {
  process.stderr.write(`${inspect(error)}\n`);
  return reply.code(500).send({});
});
app.post<{ Params: { id: string }; Body: Body }>(
  '/v1/messaging/conversations/:id/messages',
  { schema: { body: BODY, response: { 201: schemaOf(start.shape) } } },
  async (request, reply) => {
    const sender = callers.get(tokenOf(request.headers.authorization));
    if (sender === undefined) return reply.code(401).send({});
    const { id } = request.params;
    const roster = rosters.get(id);
    if (roster === undefined || !roster.includes(sender.id)) return reply.code(404).send({});
    const recipients = roster.filter((actor) => actor !== sender.id);
    const { message, notifications } = await send(sender, recipients, id, request.body);
    // All sends come from the caller whose message is the shape.
    const shown = { ...start.shape, ...message, sent_at: message.created_at };
    if (notifications.length > 0) io.to(id).emit('message.created', shown);
    for (const { recipient_id: recipient, ...notification } of notifications) {
      io.to(recipient).emit('notification.created', { object: 'notification', ...notification, sender });
    }
    return reply.code(201).send(shown);
  },
);

function tokenOf(authorization = ''): string {
  return authorization.slice('Bearer '.length);
}

const publisher = new Redis(start.redisUrl);
const io = new Server(app.server, {
  transports: ['websocket'],
  serveClient: false,
  adapter: createAdapter(publisher, publisher.duplicate()),
});
io.use((socket, next) => {
  const caller = callers.get(socket.handshake.auth.token);
  socket.data.caller = caller;
  next(caller === undefined ? new Error('unauthorized') : undefined);
});
io.on('connection', async (socket) => {
  const { id }: Caller = socket.data.caller;
  socket.on('subscribe', async (conversations: readonly string[], done: (joined: number) => void) => {
    const own = conversations.filter((conversation) => rosters.get(conversation)?.includes(id));
    await socket.join(own);
    done(own.length);
  });
  await socket.join(id);
});

const address = await app.listen({ port: 0, host: '127.0.0.1' });
listening(Number(new URL(address).port));
process.once('disconnect', () => process.exit(0));
