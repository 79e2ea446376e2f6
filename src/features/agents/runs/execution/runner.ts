import { ApiError } from '@parley/protocol/errors/errors.ts';
import { parseTraceparent, traceFields } from '@parley/protocol/traceparent.ts';
import type { Identity } from '../../../../api/access/authenticate.ts';
import { EVERYTHING } from '../../../../api/access/rights.ts';
import type { ConversationFacts } from '../../../../core/conversations/directory/directory.ts';
import type { NodeParts } from '../../../../core/features/feature.ts';
import { readAgent } from '../../../../core/resources/agent.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import { UNWOKEN_EVERY_MS } from '../../../../platform/db/queue/due-watch.ts';
import { KeyedLimiter, Loop } from '../../../../platform/lifecycle.ts';
import type { Logger } from '../../../../platform/log.ts';
import type { AgentMetrics } from '../../metrics.ts';
import { readTurns } from '../../models/history.ts';
import { instructionsFor } from '../../models/instructions.ts';
import type { ModelTiers } from '../../models/tiers.ts';
import { tokensOfTools } from '../../models/window.ts';
import { completeAbandoned } from '../../replies/complete-reply.ts';
import type { Replies } from '../../replies/replies.ts';
import type { AgentReply } from '../../replies/reply.ts';
import type { Toolbox } from '../../tools/toolbox.ts';
import { expireApprovals } from '../state/approvals.ts';
import { type Ending, endRun } from '../state/end-run.ts';
import { findOverdue, HAS_OVERDUE, lockDead, renewRuns, takeRun } from '../state/lease-store.ts';
import { isStartedByMail } from '../state/origin.ts';
import type { RunDue } from '../state/outbox-topics.ts';
import { type Admit, Execution, endClaimed } from './execution.ts';
import { cutBy, isExpected, RunFailure, reasonOf, Stop, untilBack } from './failure.ts';
import { hasRoomFor } from './run-limit.ts';

export interface RunnerOptions
  extends Pick<
    NodeParts,
    'database' | 'rights' | 'authenticator' | 'directory' | 'engine' | 'watch' | 'log'
  > {
  readonly metrics: AgentMetrics;
  readonly replies: Replies;
  readonly toolbox: Toolbox;
  readonly tiers: ModelTiers;
}

/** Connections of the pool for all runs together: the rest is left for requests. */
const MAX_CONNECTIONS = 4;

/**
 * Interval at which leases are renewed and texts stored, in milliseconds: a kill loses at most this
 * much of a text. Runs are taken over no more often.
 */
const ROUND_MS = 1_000;

/**
 * Runs agents on this node. A run is claimed with a lease, which this node renews while it lives. A
 * run whose lease has run out is ended by the first node that sees it. The last second of a run's
 * text exists only in memory.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #active = new Map<string, Active>();
  readonly #turns = new KeyedLimiter(MAX_CONNECTIONS);
  readonly #hold: Loop;
  readonly #sweep: Loop;
  readonly #forgetRights: () => void;
  #stopping = false;
  #whenIdle: (() => void)[] = [];

  constructor(options: RunnerOptions) {
    this.#options = options;
    const onError = (error: unknown) => options.log.warn({ err: error }, 'runner round failed');
    // A separate loop: claiming runs, however many, must not delay the renewal of leases.
    this.#hold = new Loop({ intervalMs: ROUND_MS, run: () => this.#holdActive(), onError });
    this.#sweep = new Loop({ intervalMs: UNWOKEN_EVERY_MS, run: () => this.#takeOver(), onError });
    options.watch.add({
      name: 'agent_runs',
      condition: HAS_OVERDUE,
      everyMs: ROUND_MS,
      onDue: () => this.#sweep.wake(),
    });
    // A cancel has the run as its subject; all other subjects are rights that runs depend on.
    this.#forgetRights = options.rights.onChange((subject) => {
      if (subject === EVERYTHING || this.#concerns(subject)) this.#hold.wake();
    });
  }

  /** Handles RUN_DUE: claims and starts the run, or leaves it for a node with room. */
  async due({ run_id: id, account_id }: RunDue): Promise<void> {
    const { database, engine } = this.#options;
    await this.#turns.run(id, async () => {
      if (this.#stopping || this.#active.has(id) || !hasRoomFor(account_id, this.#active)) return;
      const run = await takeRun(database, engine.nodeId, id);
      if (run !== undefined) this.#begin(run);
    });
  }

  /** Stops claiming, and waits for the active runs. After `ms` they end as they stand. */
  async drain(ms: number): Promise<void> {
    this.#stopping = true;
    if (this.#active.size === 0) return;
    const timer = setTimeout(() => {
      for (const { abort } of this.#active.values()) abort.abort(new Stop('stopping'));
    }, ms);
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    await this.drain(0);
    this.#forgetRights();
    await Promise.all([this.#hold.close(), this.#sweep.close()]);
  }

  #concerns(subject: string): boolean {
    if (this.#active.has(subject)) return true;
    for (const { run } of this.#active.values()) {
      if (run.conversation_id === subject || run.account_id === subject) return true;
    }
    return false;
  }

  #begin(run: RunRow): void {
    const log = this.#options.log.child({
      run_id: run.id,
      conversation_id: run.conversation_id ?? undefined,
      ...traceFields(parseTraceparent(run.traceparent)),
    });
    const active: Active = { run, log, abort: new AbortController() };
    this.#active.set(run.id, active);
    this.#options.metrics.agentRunsActive.inc();
    // The runner was stopped between the claim and this line.
    if (this.#stopping) active.abort.abort(new Stop('stopping'));
    void this.#run(active).finally(() => {
      this.#active.delete(run.id);
      this.#options.metrics.agentRunsActive.dec();
      if (this.#active.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    });
  }

  /** Never rejects. */
  async #run(active: Active): Promise<void> {
    const { run, log } = active;
    const { metrics, replies, authenticator } = this.#options;
    let reply: AgentReply | null = null;
    try {
      const prepared = await this.#prepare(active);
      reply = prepared.reply;
      const outcome = await prepared.execution.run();
      metrics.agentRuns.inc({ outcome });
      if (outcome !== 'completed') return;
      // The role is read again, as it stands when the reply is complete.
      await replies.deliver(run, await authenticator.principalOf(identityOf(run)));
    } catch (error) {
      try {
        await this.#endOtherwise(active, reply, error);
      } catch (failure) {
        reply?.abandon();
        log.error({ err: failure }, 'could not end a run, it ends when its lease expires');
      }
    }
  }

  /** Throws RunFailure if the run cannot begin, or an error of Postgres. */
  async #prepare({ run, log, abort: { signal } }: Active) {
    const { database, authenticator, replies, toolbox, tiers } = this.#options;
    const admit = this.#admitFor(run, signal);
    const agent = await admit(() => readAgent(database, run.agent_id));
    if (agent === undefined) throw new RunFailure('The agent was deleted.');
    const principal = () => authenticator.principalOf(identityOf(run));
    const facts = await this.#requireStanding(run);
    const chain = tiers.chainFor(agent, run.trigger_type);
    const tools = toolbox.toolsFor(agent);
    const readTools = async () => {
      const now = await readAgent(database, run.agent_id);
      return now === undefined ? [] : toolbox.toolsFor(now);
    };
    const contextTokens = chain.contextTokens - tokensOfTools(tools.map(({ spec }) => spec));
    const history = await readTurns(database, { run, agent, contextTokens });
    const instructions = instructionsFor(agent, facts);
    const reply = replies.open(run, agent, facts);
    const execution = new Execution({
      database,
      log,
      run,
      agent,
      principal,
      admit,
      reply,
      chain,
      signal,
      tools,
      readTools,
      instructions,
      history,
      metrics: this.#options.metrics,
      isStartedByMail: await isStartedByMail(database, run),
    });
    return { execution, reply };
  }

  /**
   * Requires an active subscription, a role and, in a conversation, the right to write. Returns the
   * conversation. Throws RunFailure, or ApiError if the agent cannot act any more.
   */
  async #requireStanding(run: RunRow): Promise<ConversationFacts | null> {
    const { authenticator, directory } = this.#options;
    const { subscribed, roleId } = await authenticator.principalOf(identityOf(run));
    if (roleId === null) throw new RunFailure('The agent has no role, so it may do nothing.');
    if (!subscribed) throw new RunFailure("The account's subscription is not active. Renew it to continue.");
    if (run.conversation_id === null) return null;
    const facts = await directory.facts(run.conversation_id);
    const member = facts?.members.get(run.actor_id);
    if (facts === undefined || facts.deletedAt !== null || member === undefined) {
      throw new RunFailure('The agent is not in the conversation any more.');
    }
    if (member.role === 'viewer') throw new RunFailure('The agent may only read in the conversation.');
    if (facts.status === 'archived')
      throw new RunFailure('The conversation is archived. Set its status to active first.');
    return facts;
  }

  async #endOtherwise({ run, log, abort }: Active, reply: AgentReply | null, error: unknown): Promise<void> {
    const { database, metrics } = this.#options;
    const admit = this.#admitFor(run, abort.signal);
    if (error instanceof Stop && error.reason === 'lost') {
      reply?.abandon();
      return;
    }
    if (!isExpected(error)) log.error({ err: error }, 'run failed');
    const ending = endingFor(error);
    if (await endClaimed({ database, admit }, run, reply, ending, cutBy(error)))
      metrics.agentRuns.inc({ outcome: ending.move });
    else reply?.abandon();
  }

  #admitFor({ id }: RunRow, signal: AbortSignal): Admit {
    return (work) => untilBack(() => this.#turns.run(id, work), signal);
  }

  async #holdActive(): Promise<void> {
    await this.#renew();
    await this.#options.replies.checkpoint();
    await this.#stopUnwelcome();
  }

  /** Stops runs whose agents have lost their place in the conversation. */
  async #stopUnwelcome(): Promise<void> {
    for (const { run, abort } of [...this.#active.values()]) {
      try {
        await this.#requireStanding(run);
      } catch (error) {
        const isMeant = error instanceof RunFailure || isGone(error);
        if (!isMeant) throw error;
        abort.abort(error);
      }
    }
  }

  async #takeOver(): Promise<void> {
    const { database } = this.#options;
    const { unclaimed, dead, undecided } = await findOverdue(database);
    for (const due of unclaimed) await this.due(due);
    if (dead) await this.#endDead();
    if (undecided) await expireApprovals(database);
  }

  /**
   * Ends the runs of nodes that died, with the text of the last checkpoint, so that no message
   * stays `streaming` (docs/realtime.md#streamed-replies). The runs of this node are excluded
   * whatever their leases say, because no node could renew leases while Postgres was unavailable.
   */
  async #endDead(): Promise<void> {
    const alive = [...this.#active.keys()];
    for (let found = true; found; ) {
      found = await this.#options.database.transaction(async (tx) => {
        const run = await lockDead(tx, alive);
        if (run === undefined) return false;
        await completeAbandoned(tx, run);
        await endRun(tx, run, run.cancel_requested_at === null ? DIED : { move: 'cancel' });
        return true;
      });
    }
  }

  async #renew(): Promise<void> {
    if (this.#active.size === 0) return;
    const asked = [...this.#active.values()];
    const rows = await renewRuns(
      this.#options.database,
      asked.map(({ run }) => run),
    );
    const renewed = new Map(rows.map((row) => [row.id, row]));
    for (const { run, abort } of asked) {
      const row = renewed.get(run.id);
      // A run that has just ended is missing as well: aborting it is a no-op.
      if (row === undefined) abort.abort(new Stop('lost'));
      else if (row.cancel_requested) abort.abort(new Stop('cancelled'));
    }
  }
}

interface Active {
  readonly run: RunRow;
  /** Each line contains the run's id and conversation. */
  readonly log: Logger;
  readonly abort: AbortController;
}

const DIED: Ending = { move: 'fail', error: 'The server that ran it died.' };

/** Returns an identity without a credential: the actor's current role counts at each call. */
function identityOf({ account_id: accountId, actor_id: actorId }: RunRow): Identity {
  return {
    accountId,
    actorId,
    credential: { kind: 'access_token', id: `agent:${actorId}`, expiresAtMs: null },
  };
}

/** Returns whether the agent was deleted; other errors mean that Postgres is unavailable. */
function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.condition === 'invalid_credentials';
}

function endingFor(error: unknown): Ending {
  if (error instanceof Stop && error.reason === 'cancelled') return { move: 'cancel' };
  return { move: 'fail', error: reasonOf(error) };
}
