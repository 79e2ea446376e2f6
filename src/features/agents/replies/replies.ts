import { presentActor } from '@parley/protocol/resources/actor.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { ConversationFacts } from '../../../core/conversations/directory/directory.ts';
import type { Core, NodeParts } from '../../../core/features/feature.ts';
import type { AgentRow } from '../../../core/resources/agent.ts';
import type { RunRow } from '../../../core/resources/run.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import { completeAbandoned } from './complete-reply.ts';
import { deliverReply } from './delivery.ts';
import { DraftReply } from './draft-reply.ts';
import type { LiveReply, ReplyHost } from './live-reply.ts';
import { MessageReply } from './message-reply.ts';
import { Pace } from './pace.ts';
import type { AgentReply } from './reply.ts';
import { BufferedReply } from './reply-text.ts';
import { findStrays, type ReplyCheckpoint, updateCheckpoints } from './store.ts';

export interface RepliesOptions
  extends Pick<NodeParts, 'database' | 'engine' | 'log'>,
    Pick<Core, 'lockedWrites'>,
    Pick<ReplyHost, 'writePath'> {
  /** Milliseconds for which text gathers; 0 publishes each token alone (the bench's control). */
  readonly gatherMs?: number;
}

/** The replies that the runs of this node are writing. */
export class Replies {
  readonly #options: RepliesOptions;
  readonly #host: ReplyHost;
  readonly #pace: Pace;
  readonly #open = new Set<LiveReply>();
  readonly #strays: Loop;
  readonly #unregister: () => void;
  #checkpoint: Promise<void> | undefined;

  constructor(options: RepliesOptions) {
    this.#options = options;
    this.#pace = new Pace(options.gatherMs);
    this.#host = { ...options, pace: this.#pace, over: (reply) => this.#open.delete(reply) };
    this.#strays = new Loop({
      intervalMs: STRAYS_EVERY_MS,
      run: () => this.#endStrays(),
      onError: (error) => options.log.warn({ err: error }, 'ending abandoned replies failed'),
    });
    this.#unregister = options.engine.onMissed(({ reason, channels }) => {
      if (reason === 'away') return;
      for (const reply of this.#open) reply.missed(channels);
    });
  }

  /** Opens the reply of a run that this node claimed. `facts` is null without a conversation. */
  open(run: RunRow, agent: Pick<AgentRow, 'actor_id' | 'name'>, facts: ConversationFacts | null): AgentReply {
    if (facts === null) return new BufferedReply();
    const reply =
      facts.audience === 'customer'
        ? new DraftReply(this.#host, run, facts)
        : new MessageReply(this.#host, run, facts, senderOf(agent, facts));
    this.#open.add(reply);
    return reply;
  }

  /**
   * Stores new text of the runs that this node still holds, for another node to complete if this
   * one dies. Publishes no event, because readers have the text.
   */
  checkpoint(): Promise<void> {
    this.#checkpoint ??= this.#keep().finally(() => {
      this.#checkpoint = undefined;
    });
    return this.#checkpoint;
  }

  /**
   * Sends the reply to a customer that a completed run has composed, if its role grants
   * `messaging:send_external` (docs/contract.md#sending-a-message) and no person has written to the
   * customer since. Otherwise, or after an error, the draft waits for approval. Never rejects.
   */
  async deliver(run: Pick<RunRow, 'id' | 'conversation_id'>, principal: Principal): Promise<void> {
    try {
      await deliverReply(this.#options, run, principal);
    } catch (error) {
      const { id: run_id, conversation_id } = run;
      const context = { err: error, run_id, conversation_id };
      this.#options.log.warn(context, 'could not send a reply, it waits for approval');
    }
  }

  async close(): Promise<void> {
    this.#unregister();
    for (const reply of this.#open) reply.abandon();
    this.#pace.close();
    await Promise.all([this.#strays.close(), this.#checkpoint?.catch(() => {})]);
  }

  async #keep(): Promise<void> {
    const unkept = new Map<LiveReply, ReplyCheckpoint>();
    for (const reply of this.#open) {
      const kept = reply.unkept();
      if (kept !== undefined) unkept.set(reply, kept);
    }
    if (unkept.size === 0) return;
    const { database, engine } = this.#options;
    await updateCheckpoints(database, engine.nodeId, [...unkept.values()]);
    for (const [reply, kept] of unkept) reply.keep(kept);
  }

  async #endStrays(): Promise<void> {
    const { database } = this.#options;
    for (const run of await findStrays(database)) {
      await database.transaction((tx) => completeAbandoned(tx, run));
    }
  }
}

const STRAYS_EVERY_MS = 5_000;

function senderOf({ actor_id: id, name }: Pick<AgentRow, 'actor_id' | 'name'>, facts: ConversationFacts) {
  const member = facts.members.get(id);
  const bare = { handle: null, avatar_url: null, external_id: null, username: null };
  return member?.actor ?? presentActor({ id, type: 'agent', name, ...bare });
}
