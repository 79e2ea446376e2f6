/**
 * The product's delivery path alone: publish() → engine → ordering → topic, one message a turn of
 * the event loop, no request and no database in between. Sockets are joined as the gateway joins
 * them.
 */

import { App, us_socket_local_port, type WebSocket } from 'uWebSockets.js';
import { newId } from '@parley/protocol/ids.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import { Rights } from '../../src/api/access/rights.ts';
import { loadConfig } from '../../src/app/config.ts';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import { publish } from '../../src/core/frames/publish.ts';
import { Timeline } from '../../src/core/messages/timeline/timeline.ts';
import { type MessageRow, messageEvent } from '../../src/core/resources/message.ts';
import { Presence } from '../../src/edge/gateway/presence/presence.ts';
import { Fanout } from '../../src/edge/gateway/stream/fanout.ts';
import type { Reader } from '../../src/edge/gateway/stream/reader.ts';
import { Streams } from '../../src/edge/gateway/stream/streams.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { createLog } from '../../src/platform/log.ts';
import { listening, publishOnCredit } from '../controls/delivery-loop.ts';

/** A stream of its own, which is in no database. */
const CONVERSATION = newId('conversation');
const [BODY = '', SENDER = '{}'] = process.argv.slice(2);
const sender: Actor = JSON.parse(SENDER);

const config = loadConfig();
const log = createLog(config.logLevel);
const database = await openDatabase({ url: config.databaseUrl ?? '', log });
const engine = new MemoryEngine<Frame>();
const metrics = createNodeMetrics();
const app = App();
const fanout = new Fanout(app, metrics);
fanout.addForm({ version: CURRENT_VERSION, hidden: [] });
const streams = new Streams({
  metrics,
  database,
  files: { presignDownload: () => Promise.reject(new Error('no message here has a file')) },
  engine,
  timeline: new Timeline(database, engine, metrics),
  directory: new ConversationDirectory(database, await Rights.open(engine)),
  broadcast: fanout.broadcast,
  limits: config.socket,
  presence: new Presence({
    engine,
    holdMs: config.socket.presenceMs,
    deliver: (conversationId, event) => streams.deliverEphemeral(conversationId, event),
    onError: (error) => log.error({ err: error }, 'presence failed'),
  }),
  log,
});

app.ws<{ reader: Reader }>('/', {
  compression: 0,
  idleTimeout: 0,
  maxBackpressure: config.socket.durableBytes,
  open: (ws) => {
    streams.join(CONVERSATION, readerOf(ws), undefined).then(
      (joined) => joined.run(),
      (error: unknown) => log.error({ err: error }, 'a socket could not join'),
    );
  },
});

let sequence = 0;
publishOnCredit(() => {
  sequence += 1;
  const message = { row: rowOf(sequence), sender, attachments: [] };
  publish(engine, messageEvent('message.created', message, 'internal')).catch((error: unknown) => {
    log.error({ err: error }, 'could not publish');
  });
});
app.listen('127.0.0.1', 0, (socket) => listening(socket === false ? 0 : us_socket_local_port(socket)));
process.once('disconnect', () => process.exit(0));

function readerOf(ws: WebSocket<{ reader: Reader }>): Reader {
  return {
    audience: 'team',
    version: CURRENT_VERSION,
    hidden: [],
    closed: false,
    bufferedBytes: 0,
    heldBytes: 0,
    send: (bytes) => {
      ws.send(bytes, false);
    },
    sendAll: (frames) => {
      ws.cork(() => {
        for (const bytes of frames) ws.send(bytes, false);
      });
    },
    join: (topic) => {
      ws.subscribe(topic);
    },
    leave: (topic) => {
      ws.unsubscribe(topic);
    },
    isOn: (topic) => ws.isSubscribed(topic),
    drained: () => Promise.resolve(),
    forget: () => {},
    giveUp: () => {},
  };
}

/** Returns a row as the write path leaves it. */
function rowOf(sequence: number): MessageRow {
  const now = `${new Date().toISOString().slice(0, -1)}000Z`;
  return {
    id: newId('message'),
    account_id: 'acc_bench',
    conversation_id: CONVERSATION,
    sequence,
    kind: 'chat',
    status: 'sent',
    visibility: 'internal',
    channel: 'message',
    email_status: null,
    body: BODY,
    subject: null,
    cc: null,
    mentions: null,
    sender_id: sender.id,
    author_id: sender.id,
    reply_to_id: null,
    resource_type: null,
    resource_id: null,
    agent_run_id: null,
    streaming_state: null,
    client_message_id: `run-${String(sequence).padStart(12, '0')}`,
    has_attachments: false,
    scheduled_at: null,
    edited_at: null,
    edited_by: null,
    deleted_at: null,
    redaction: null,
    created_at: now,
    updated_at: now,
    outcome: null,
    metadata: null,
    imported: null,
    incomplete: null,
    event: null,
    question: null,
  };
}
