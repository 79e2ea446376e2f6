import { newId } from '@parley/protocol/ids.ts';
import type { Principal } from '../../src/api/access/principal.ts';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { publishChanged } from '../../src/core/committed/changed-effects.ts';
import { SentEffects } from '../../src/core/committed/sent-effects.ts';
import {
  ConversationDirectory,
  type ConversationFacts,
} from '../../src/core/conversations/directory/directory.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import { RESOURCES_CHANGED } from '../../src/core/events/changes.ts';
import { LockedWrites } from '../../src/core/messages/timeline/locked-write.ts';
import { Numbers } from '../../src/core/messages/timeline/numbers.ts';
import type { Committed } from '../../src/core/messages/timeline/outgoing.ts';
import { Timeline } from '../../src/core/messages/timeline/timeline.ts';
import { WritePath } from '../../src/core/messages/timeline/write-path.ts';
import { planNotifications } from '../../src/core/notifications/causes/notify.ts';
import { SettingsOfUsers } from '../../src/core/notifications/settings/settings.ts';
import { type MessageRow, messageColumns } from '../../src/core/resources/message.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import { Replies } from '../../src/features/agents/replies/replies.ts';
import type { AgentReply } from '../../src/features/agents/replies/reply.ts';
import { updateRun } from '../../src/features/agents/runs/state/store.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { InFlightRows } from '../../src/platform/db/queue/in-flight-rows.ts';
import { OutboxWorker } from '../../src/platform/db/queue/outbox-worker.ts';
import { handle } from '../../src/platform/db/queue/topic.ts';
import type { Ground } from '../gateway/fixture.ts';
import type { Teardown } from './teardown.ts';
import { log, NO_LISTENERS, NO_WATCH, newMessage } from './timeline.ts';

/**
 * The part of a node that writes replies, in the name of the demo account's agent, without the part
 * that runs agents.
 */
export class ReplyNode {
  readonly ground: Ground;
  readonly replies: Replies;
  readonly lockedWrites: LockedWrites;
  readonly #directory: ConversationDirectory;
  readonly #writePath: WritePath;

  static start(t: Teardown, ground: Ground): ReplyNode {
    const { database, engine, metrics, rights } = ground;
    const directory = new ConversationDirectory(database, rights);
    const inFlight = new InFlightRows({ database, listeners: NO_LISTENERS, log });
    const settings = new SettingsOfUsers(database, rights);
    const timeline = new Timeline(database, engine, metrics);
    const effects = new SentEffects({
      database,
      files: FILES,
      engine,
      directory,
      settings,
      timeline,
      inFlight,
      metrics,
      log,
    });
    const writes = {
      database,
      files: FILES,
      timeline,
      metrics,
      log,
      planNotifications,
      numbers: new Numbers({ engine, timeline, metrics }),
      maySend: () => true,
      onCommitted: (committed: Committed) => effects.committed(committed),
    };
    const writePath = new WritePath(writes);
    const lockedWrites = new LockedWrites(writes);
    const ofChanges = {
      database,
      files: FILES,
      engine,
      onFinished: (messageIds: readonly string[]) => effects.finished(messageIds),
    };
    const outbox = new OutboxWorker({ database, inFlight, watch: NO_WATCH, metrics, log });
    outbox.start([handle(RESOURCES_CHANGED, (changes) => publishChanged(ofChanges, changes, false))]);
    const replies = new Replies({ database, engine, writePath, lockedWrites, log });
    t.teardown(async () => {
      await replies.close();
      await outbox.close();
      await effects.idle();
      await inFlight.close();
    });
    return new ReplyNode(ground, replies, lockedWrites, directory, writePath);
  }

  private constructor(
    ground: Ground,
    replies: Replies,
    lockedWrites: LockedWrites,
    directory: ConversationDirectory,
    writePath: WritePath,
  ) {
    this.ground = ground;
    this.replies = replies;
    this.lockedWrites = lockedWrites;
    this.#directory = directory;
    this.#writePath = writePath;
  }

  /** Creates a conversation of ada, grace and the agent; a case has a customer too. */
  async conversation(audience: 'internal' | 'customer' = 'internal'): Promise<string> {
    const { database, demo } = this.ground;
    const { account_id: accountId, users, agent } = demo;
    const { id: customerId } = await createCustomer(database, { accountId, name: 'Cleo' });
    const { conversation } = await database.transaction((tx) =>
      createConversation(tx, {
        accountId,
        type: 'group',
        title: 'Pier',
        audience,
        participants: [
          { type: 'user', actorId: users.ada.id, role: 'owner' },
          { type: 'user', actorId: users.grace.id },
          { type: 'agent', actorId: agent.actor_id },
          ...(audience === 'customer' ? [{ type: 'customer', actorId: customerId } as const] : []),
        ],
      }),
    );
    return conversation.id;
  }

  /** Returns a run that this node has claimed. */
  claim(conversationId: string | null, triggerMessageId: string | null = null): Promise<RunRow> {
    const { database, demo, engine } = this.ground;
    return database.kysely
      .insertInto('agent_runs')
      .values({
        id: newId('agentRun'),
        account_id: demo.account_id,
        agent_id: demo.agent.id,
        actor_id: demo.agent.actor_id,
        trigger_type: 'chat',
        trigger_key: newId('message'),
        status: 'running',
        conversation_id: conversationId,
        trigger_message_id: triggerMessageId,
        owner: engine.nodeId,
        fence: 1,
        started_at: new Date().toISOString(),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  async open(run: RunRow): Promise<AgentReply> {
    const facts = run.conversation_id === null ? null : await this.facts(run.conversation_id);
    return this.replies.open(run, { actor_id: run.actor_id, name: 'Agent' }, facts);
  }

  async facts(conversationId: string): Promise<ConversationFacts> {
    const facts = await this.#directory.facts(conversationId);
    if (facts === undefined) throw new Error(`no conversation ${conversationId}`);
    return facts;
  }

  /** Ends or pauses a run as the runner does. */
  async finish(
    run: RunRow,
    reply: AgentReply,
    status: RunRow['status'] = 'completed',
    artifactIds: readonly string[] = [],
  ): Promise<void> {
    await reply.settle();
    await this.ground.database.transaction(async (tx) => {
      await reply.finish(tx, artifactIds, null);
      await updateRun(tx, run.id, { status, owner: null });
    });
  }

  /** Returns the agent's principal, by default without writing to customers unapproved. */
  async principal(...permissions: string[]): Promise<Principal> {
    const { authenticator, demo } = this.ground;
    const principal = await authenticator.principalOf({
      accountId: demo.account_id,
      actorId: demo.agent.actor_id,
      credential: { kind: 'access_token', id: 'agent', expiresAtMs: null },
    });
    return { ...principal, permissions: new Set(permissions) };
  }

  /** Sends a message of the team to the customer, or of the customer to the team. */
  async external(conversationId: string, authorId: string): Promise<MessageRow> {
    const fields = { author_id: authorId, visibility: 'external' } as const;
    const outgoing = { ...this.#outgoing(conversationId, fields), audience: 'customer' as const };
    const { row } = await this.lockedWrites.enter(conversationId, async () => outgoing);
    return row;
  }

  /** Sends a plain message of ada. */
  async send(conversationId: string): Promise<MessageRow> {
    return (await this.#writePath.append(this.#outgoing(conversationId, {}))).row;
  }

  async row(id: string): Promise<MessageRow> {
    const text = `SELECT ${messageColumns('m')} FROM messages m WHERE id = $1`;
    const [row] = await this.ground.database.query(
      statement<[id: string], MessageRow>('test-message')(text),
      id,
    );
    if (row === undefined) throw new Error(`no message ${id}`);
    return row;
  }

  #outgoing(conversation_id: string, fields: Parameters<typeof newMessage>[1]) {
    const { account_id: accountId, users } = this.ground.demo;
    const author = { accountId, authorId: users.ada.id, conversationId: conversation_id };
    const message = newMessage(author, { sender_id: users.ada.id, ...fields });
    return { message, sender: null, audience: 'internal' as const };
  }
}

const FILES = { presignDownload: async ({ key }: { key: string }) => `https://files.example/${key}` };
