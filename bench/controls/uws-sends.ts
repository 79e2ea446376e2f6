/**
 * The least cost of durable sends on this stack: uWebSockets.js and pg. Sends that arrive during an
 * insert go into the next one, a single statement; then one publish and one answer a message. No
 * rights, no validation, no rosters, no resends, numbers from memory.
 */

import { App, type HttpResponse, us_socket_local_port } from 'uWebSockets.js';
import { inspect } from 'node:util';
import { newId } from '@parley/protocol/ids.ts';
import pg from 'pg';
import { connectionOptions } from '../../src/platform/db/connection/connection-options.ts';
import { insertOf, type SendSample } from '../lib/insert-script.ts';
import { listening } from './delivery-loop.ts';

/** The runner's first message. */
export interface FloorStart {
  readonly databaseUrl: string;
  readonly accountId: string;
  /** A message as Parley answers it, whose fields this server's messages share. */
  readonly shape: object;
  /** The rows that a send of Parley leaves. */
  readonly sample: SendSample;
  readonly senderId: string;
  readonly recipientId: string;
  /** The number of the last message in every conversation. */
  readonly lastSequence: number;
}

interface Send {
  readonly response: HttpResponse;
  readonly conversation: string;
  readonly body: string;
  readonly key: string;
}

const start = await new Promise<FloorStart>((resolve) => process.once('message', resolve));
const client = new pg.Client(
  connectionOptions({ url: start.databaseUrl, statementTimeoutMs: 8_000, queryTimeoutMs: 0 }),
);
await client.connect();

/** The columns that a send of Parley fills, with the same values except for this send's own. */
const message = insertOf('messages', start.sample.message, {
  id: 'i.id',
  account_id: '$1',
  conversation_id: 'i.conversation_id',
  sequence: 'i.sequence',
  body: 'i.body',
  sender_id: '$2',
  author_id: '$2',
  client_message_id: 'i.key',
  created_at: '$4::timestamptz',
  updated_at: '$4::timestamptz',
});
const notification = insertOf('notifications', start.sample.notification, {
  id: 'notification_id($4::timestamptz, id, $3)',
  account_id: '$1',
  recipient_id: '$3',
  body: 'left(body, 140)',
  sender_id: '$2',
  resource_id: 'conversation_id',
  message_id: 'id',
  created_at: '$4::timestamptz',
  updated_at: '$4::timestamptz',
});
const INSERT = {
  name: 'insert',
  text: `
    WITH m AS (
      ${message.into} SELECT ${message.values}
      FROM unnest($5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[])
        AS i(id, conversation_id, sequence, body, key)
      RETURNING id, conversation_id, body
    )
    ${notification.into} SELECT ${notification.values} FROM m`,
};

const sequences = new Map<string, number>();
let waiting: Send[] = [];
let inserting = false;

async function insertWaiting(): Promise<void> {
  inserting = true;
  while (waiting.length > 0) {
    const sends = waiting;
    waiting = [];
    const at = new Date().toISOString();
    const messages = sends.map(({ conversation, body, key }) => {
      const sequence = (sequences.get(conversation) ?? start.lastSequence) + 1;
      sequences.set(conversation, sequence);
      const ids = { id: newId('message'), conversation_id: conversation, sequence, client_message_id: key };
      return { ...start.shape, ...ids, body, created_at: at, updated_at: at, sent_at: at };
    });
    await client.query({
      ...INSERT,
      values: [
        start.accountId,
        start.senderId,
        start.recipientId,
        at,
        messages.map(({ id }) => id),
        messages.map(({ conversation_id }) => conversation_id),
        messages.map(({ sequence }) => sequence),
        messages.map(({ body }) => body),
        messages.map(({ client_message_id }) => client_message_id),
      ],
    });
    for (const [index, message] of messages.entries()) {
      const { response, conversation } = sends[index]!;
      const text = JSON.stringify(message);
      app.publish(conversation, `{"type":"event","event":"message.created","data":${text}}`, false);
      response.cork(() => {
        response.writeStatus('201 Created').writeHeader('Content-Type', 'application/json').end(text);
      });
    }
  }
  inserting = false;
}

function fail(error: unknown): void {
  process.stderr.write(`${inspect(error)}\n`);
  process.exit(1);
}

const app = App();
app.post('/v1/messaging/conversations/:id/messages', (response, request) => {
  const conversation = request.getParameter(0)!;
  // Requests of the bench wait for their answers, and fit into one piece.
  response.onAborted(() => fail('a request was taken back'));
  response.onData((bytes) => {
    const { body, client_message_id: key } = JSON.parse(Buffer.from(bytes).toString());
    waiting.push({ response, conversation, body, key });
    if (!inserting) insertWaiting().catch(fail);
  });
});
app.ws<{ topics: readonly string[] }>('/', {
  compression: 0,
  idleTimeout: 0,
  maxBackpressure: 1_048_576,
  upgrade: (response, request, context) => {
    const topics = request.getQuery()!.split(',');
    response.upgrade({ topics }, request.getHeader('sec-websocket-key'), '', '', context);
  },
  open: (ws) => {
    for (const topic of ws.getUserData().topics) ws.subscribe(topic);
  },
});
app.listen('127.0.0.1', 0, (socket) => listening(socket === false ? 0 : us_socket_local_port(socket)));
process.once('disconnect', () => process.exit(0));
