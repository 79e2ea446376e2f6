/**
 * Writes agents' replies without agents: texts grow token by token as a model would send them,
 * through the product's Replies, write path, engine, ordering and topics. Sockets are joined as the
 * gateway joins them.
 */

import { App, us_socket_local_port, type WebSocket } from 'uWebSockets.js';
import { newId } from '@parley/protocol/ids.ts';
import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import { Rights } from '../../src/api/access/rights.ts';
import { loadConfig } from '../../src/app/config.ts';
import { HOOKS } from '../../src/app/features.ts';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { createActor } from '../../src/core/accounts/actors/actors.ts';
import { publishChanged } from '../../src/core/committed/changed-effects.ts';
import { SentEffects } from '../../src/core/committed/sent-effects.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import { RESOURCES_CHANGED } from '../../src/core/events/changes.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import { LockedWrites } from '../../src/core/messages/timeline/locked-write.ts';
import { Numbers } from '../../src/core/messages/timeline/numbers.ts';
import type { Committed } from '../../src/core/messages/timeline/outgoing.ts';
import { Timeline } from '../../src/core/messages/timeline/timeline.ts';
import { WritePath } from '../../src/core/messages/timeline/write-path.ts';
import { planNotifications } from '../../src/core/notifications/causes/notify.ts';
import { SettingsOfUsers } from '../../src/core/notifications/settings/settings.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import { INDEXES } from '../../src/core/tables/indexes.ts';
import { Presence } from '../../src/edge/gateway/presence/presence.ts';
import { Fanout } from '../../src/edge/gateway/stream/fanout.ts';
import type { Reader } from '../../src/edge/gateway/stream/reader.ts';
import { Streams } from '../../src/edge/gateway/stream/streams.ts';
import { Replies } from '../../src/features/agents/replies/replies.ts';
import type { AgentReply } from '../../src/features/agents/replies/reply.ts';
import { updateRun } from '../../src/features/agents/runs/state/store.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { migrate } from '../../src/platform/db/migration/migrate.ts';
import { InFlightRows } from '../../src/platform/db/queue/in-flight-rows.ts';
import { OutboxWorker } from '../../src/platform/db/queue/outbox-worker.ts';
import { handle } from '../../src/platform/db/queue/topic.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { createLog } from '../../src/platform/log.ts';
import { exponential, stamp } from '../lib/tokens.ts';

/** The runner's request: one reply in each conversation. */
export interface Block {
  readonly paced: boolean;
  readonly tokens: number;
  /** Mean time between two tokens of a reply. */
  readonly gapMs: number;
  readonly seed: number;
}

const CONVERSATIONS = Number(process.argv[2]);
const config = loadConfig();
const log = createLog(config.logLevel);
const files = { presignDownload: () => Promise.reject(new Error('no message here has a file')) };
const database = await openDatabase({ url: config.databaseUrl ?? '', log, hooks: HOOKS });
await migrate(database, INDEXES, log);
const engine = new MemoryEngine<Frame>();
const metrics = createNodeMetrics();
const app = App();
const rights = await Rights.open(engine);
const directory = new ConversationDirectory(database, rights);
const settings = new SettingsOfUsers(database, rights);
const timeline = new Timeline(database, engine, metrics);
const fanout = new Fanout(app, metrics);
fanout.addForm({ version: CURRENT_VERSION, hidden: [] });
const streams = new Streams({
  metrics,
  database,
  files,
  engine,
  timeline,
  directory,
  log,
  broadcast: fanout.broadcast,
  limits: config.socket,
  presence: new Presence({
    engine,
    holdMs: config.socket.presenceMs,
    deliver: (conversationId, event) => streams.deliverEphemeral(conversationId, event),
    onError: (error) => log.error({ err: error }, 'presence failed'),
  }),
});

const inFlight = new InFlightRows({ database, listeners: { revision: '0', renew: async () => {} }, log });
const effects = new SentEffects({
  database,
  files,
  engine,
  directory,
  settings,
  timeline,
  inFlight,
  metrics,
  log,
});
const ofChanges = {
  database,
  files,
  engine,
  onFinished: (messageIds: readonly string[]) => effects.finished(messageIds),
};
const watch = { add: () => {} };
const outbox = new OutboxWorker({ database, inFlight, watch, metrics, log });
outbox.start([handle(RESOURCES_CHANGED, (changes) => publishChanged(ofChanges, changes, false))]);
const writes = {
  database,
  files,
  timeline,
  metrics,
  log,
  planNotifications,
  numbers: new Numbers({ engine, timeline, metrics }),
  maySend: () => true,
  onCommitted: (committed: Committed) => effects.committed(committed),
};
const options = {
  database,
  engine,
  log,
  writePath: new WritePath(writes),
  lockedWrites: new LockedWrites(writes),
};
const sides = { paced: new Replies(options), each: new Replies({ ...options, gatherMs: 0 }) };

const account = await database.kysely
  .insertInto('accounts')
  .values({ id: newId('account'), name: 'Bench' })
  .returning('id')
  .executeTakeFirstOrThrow();
const agent = await database.transaction((tx) =>
  createActor(tx, { account_id: account.id, type: 'agent', name: 'Agent' }),
);
const conversationIds: string[] = [];
for (let n = 0; n < CONVERSATIONS; n++) {
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, { accountId: account.id, type: 'group', participants: [] }),
  );
  conversationIds.push(conversation.id);
}

interface Socket {
  reader: Reader | undefined;
  readonly conversationId: string;
}

app.ws<Socket>('/', {
  compression: 0,
  idleTimeout: 0,
  maxBackpressure: config.socket.durableBytes,
  upgrade: (res, req, context) => {
    const conversationId = conversationIds[Number(req.getQuery('c'))] ?? '';
    const key = req.getHeader('sec-websocket-key');
    res.upgrade<Socket>({ reader: undefined, conversationId }, key, '', '', context);
  },
  open: (ws) => {
    streams.join(ws.getUserData().conversationId, readerOf(ws), undefined).then(
      (joined) => joined.run(),
      (error: unknown) => log.error({ err: error }, 'a socket could not join'),
    );
  },
});
app.listen('127.0.0.1', 0, (socket) => {
  process.send?.({ port: socket === false ? 0 : us_socket_local_port(socket) });
});
process.once('disconnect', () => process.exit(0));
process.on('message', (block: Block) => {
  write(block).then(
    () => process.send?.({ done: true }),
    (error: unknown) => {
      log.error({ err: error }, 'a block failed');
      process.exit(1);
    },
  );
});

/** Writes every conversation's reply, from its first token to its end. */
async function write({ paced, tokens, gapMs, seed }: Block): Promise<void> {
  const replies = paced ? sides.paced : sides.each;
  const runs: RunRow[] = [];
  for (const id of conversationIds) runs.push(await claim(id));
  const opened: { run: RunRow; reply: AgentReply }[] = [];
  for (const run of runs) opened.push({ run, reply: await begin(replies, run) });
  const gap = exponential(gapMs, seed);
  const startMs = performance.now();
  const writing = opened.map((one) => ({ ...one, left: tokens - 1, nextMs: startMs + gap() }));
  const keeping = setInterval(() => void replies.checkpoint(), 1_000);
  await new Promise<void>((resolve) => {
    const turn = () => {
      const nowMs = performance.now();
      let open = false;
      for (const one of writing) {
        for (; one.left > 0 && one.nextMs <= nowMs; one.left--) {
          one.reply.append(stamp());
          one.nextMs += gap();
        }
        open ||= one.left > 0;
      }
      if (open) setTimeout(turn, 1);
      else resolve();
    };
    turn();
  });
  // Replies do not end all at once, as no two hundred models do: the pool has nine connections.
  const ended = writing.values();
  const finishSome = async () => {
    for (const { run, reply } of ended) await finish(run, reply);
  };
  await Promise.all(Array.from({ length: 5 }, finishSome));
  clearInterval(keeping);
}

/** Starts a reply with its first token published: the measurement covers what follows. */
async function begin(replies: Replies, run: RunRow): Promise<AgentReply> {
  const facts = await directory.facts(run.conversation_id ?? '');
  const reply = replies.open(run, { actor_id: agent.id, name: 'Agent' }, facts ?? null);
  reply.append(stamp());
  while (reply.messageId === null) await new Promise((resolve) => setTimeout(resolve, 1));
  return reply;
}

function claim(conversation_id: string): Promise<RunRow> {
  return database.kysely
    .insertInto('agent_runs')
    .values({
      id: newId('agentRun'),
      account_id: account.id,
      agent_id: 'agt_bench',
      actor_id: agent.id,
      trigger_type: 'chat',
      trigger_key: newId('message'),
      status: 'running',
      conversation_id,
      owner: engine.nodeId,
      fence: 1,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function finish(run: RunRow, reply: AgentReply): Promise<void> {
  await reply.settle();
  await database.transaction(async (tx) => {
    await reply.finish(tx, [], null);
    await updateRun(tx, run.id, { status: 'completed', owner: null });
  });
}

function readerOf(ws: WebSocket<Socket>): Reader {
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
