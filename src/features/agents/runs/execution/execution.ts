import { type Failover, type IncompleteReason, RUN_LIMITS } from '@parley/protocol/resources/agent-run.ts';
import { RUN_MOVES } from '@parley/protocol/states/agent-run-states.ts';
import { parseTraceparent, type TraceContext } from '@parley/protocol/traceparent.ts';
import type { Principal } from '../../../../api/access/principal.ts';
import type { AgentRow } from '../../../../core/resources/agent.ts';
import type { ActionRow, RunRow, StepRow } from '../../../../core/resources/run.ts';
import type { StoredCall } from '../../../../core/tables/agent-tables.ts';
import type { Database } from '../../../../platform/db/connection/database.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../../platform/db/queue/outbox.ts';
import { unlessAborted } from '../../../../platform/lifecycle.ts';
import type { Logger } from '../../../../platform/log.ts';
import type { AgentMetrics } from '../../metrics.ts';
import type { Completion, ModelChain } from '../../models/chain.ts';
import type { Prompt, Turn } from '../../models/model.ts';
import { fitTurns, roomBehind } from '../../models/window.ts';
import type { AgentReply } from '../../replies/reply.ts';
import { BLANK_LINE, ReplyText } from '../../replies/reply-text.ts';
import { type RunTool, ToolRefusal } from '../../tools/tool.ts';
import { parseArguments } from '../../tools/toolbox.ts';
import {
  type ActionOutcome,
  beginAction,
  endAction,
  insertActions,
  type ReadyCall,
} from '../state/action-store.ts';
import { awaitAnswer } from '../state/answers.ts';
import { continueIfAnswered } from '../state/approvals.ts';
import { artifactsOf, hasFilesToShow, unattachedArtifacts } from '../state/artifact-store.ts';
import { type Ending, endRun } from '../state/end-run.ts';
import { lockClaimed } from '../state/lease-store.ts';
import { RUN_APPROVAL } from '../state/outbox-topics.ts';
import { enqueueRunUpdated } from '../state/start.ts';
import {
  completeStep,
  type FailedStep,
  failStep,
  insertStep,
  type RunRecord,
  readRecord,
} from '../state/step-store.ts';
import { updateRun } from '../state/store.ts';
import { cutBy, RunFailure, reasonOf, Stop } from './failure.ts';
import { bytesOf, transcriptOf } from './transcript.ts';

/** The dependencies of one claim of a run. */
export interface ExecutionOptions {
  readonly database: Database;
  /** A child logger whose lines name the run. */
  readonly log: Logger;
  /** The run as it was claimed. */
  readonly run: RunRow;
  readonly agent: AgentRow;
  /** Reads the agent's principal with its current role. */
  readonly principal: () => Promise<Principal>;
  readonly admit: Admit;
  readonly reply: AgentReply;
  /** The agent's tools at the time of the claim. */
  readonly tools: readonly RunTool[];
  /** Whether calls that reach outside the account need review. */
  readonly isStartedByMail: boolean;
  /** Reads the agent's current tools: people change agents while they run. */
  readonly readTools: () => Promise<readonly RunTool[]>;
  readonly chain: Pick<ModelChain, 'complete' | 'contextTokens'>;
  readonly instructions: string;
  /** The turns that led to the run, oldest first. */
  readonly history: readonly Turn[];
  /** Aborts with a Stop, or with the error for which the run cannot continue. */
  readonly signal: AbortSignal;
  /** Metrics of turns. */
  readonly metrics?: Pick<AgentMetrics, 'modelSeconds' | 'modelTokens' | 'modelCost' | 'modelFailovers'>;
}

/** Runs work with Postgres once a slot is free: hundreds of runs share a few connections. */
export type Admit = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Executes a run from its current state to its end or its next pause: turns of the model, each with
 * the calls that it requests. Every decision is in Postgres before the next step begins, under the
 * claim's fence: a node that has lost the run changes nothing more.
 */
export class Execution {
  readonly #options: ExecutionOptions;
  readonly #trace: TraceContext | undefined;
  #record: RunRecord = { steps: [], actions: [] };
  /** The tools when they were last read. */
  #tools: readonly RunTool[];

  constructor(options: ExecutionOptions) {
    this.#options = options;
    this.#trace = parseTraceparent(options.run.traceparent);
    this.#tools = options.tools;
  }

  /**
   * Resolves when the run is completed or waits for people. Throws Stop, RunFailure, ModelError, or
   * any error of Postgres. After an error the caller completes the text that was written by then.
   */
  async run(): Promise<'completed' | 'paused'> {
    const { database, run, admit } = this.#options;
    this.#record = await admit(() => readRecord(database, run.id));
    for (;;) {
      await this.#executeAllowed();
      const { actions } = this.#record;
      if (actions.some(({ status }) => status === 'pending_review')) return this.#pause('pause');
      if (actions.some(({ awaits }) => awaits !== null)) return this.#pause('ask');
      const completion = await this.#turn();
      if (completion.calls.length > 0) continue;
      return this.#complete();
    }
  }

  async #turn(): Promise<Completion> {
    const { database, run, chain, reply, signal, admit } = this.#options;
    const position = this.#record.steps.length + 1;
    if (position > RUN_LIMITS.steps) throw new RunFailure(`It did not end within ${RUN_LIMITS.steps} turns.`);
    if (bytesOf(this.#record) > RUN_LIMITS.bytes)
      throw new RunFailure('The texts and tool results of the run exceed the size limit.');
    const step = await admit(() => insertStep(database, run.id, position));
    const before = reply.ownText.length;
    const failovers: Failover[] = [];
    let turnText = '';
    const beganMs = performance.now();
    try {
      const completion = await chain.complete(
        this.#prompt(),
        {
          onText: (text) => {
            // The texts of different turns become separate paragraphs.
            reply.append(turnText === '' && before > 0 ? `${BLANK_LINE}${text}` : text);
            turnText += text;
          },
          onFailover: (failover) => {
            const { provider, reason } = failover;
            if (turnText !== '') reply.reset(before, reason);
            failovers.push(failover);
            this.#options.metrics?.modelFailovers.inc({ provider, reason });
            turnText = '';
          },
        },
        signal,
      );
      this.#count(completion, performance.now() - beganMs);
      signal.throwIfAborted();
      await this.#keep(step, completion);
      return completion;
    } catch (error) {
      await this.#fail(step, { text: turnText, failovers }, error);
      throw error;
    }
  }

  #count({ provider, inputTokens, outputTokens, costUsd }: Completion, ms: number): void {
    const { metrics } = this.#options;
    metrics?.modelSeconds.observe({ provider }, ms / 1_000);
    metrics?.modelTokens.inc({ provider, direction: 'input' }, inputTokens ?? 0);
    metrics?.modelTokens.inc({ provider, direction: 'output' }, outputTokens ?? 0);
    metrics?.modelCost.inc({ provider }, costUsd ?? 0);
  }

  /** Returns the run's first prompt, with as much of the transcript since as fits the window. */
  #prompt(): Prompt {
    const { agent, instructions, history, chain } = this.#options;
    const first: Prompt = {
      instructions,
      turns: history,
      tools: this.#tools.map(({ spec }) => spec),
      temperature: agent.temperature,
      trace: this.#trace,
    };
    if (this.#record.steps.length === 0) return first;
    const since = transcriptOf(this.#record, (call) => {
      const parsed = this.#parse(call);
      return typeof parsed === 'string' ? parsed : 'It was not executed.';
    });
    const turns = fitTurns(since, roomBehind(first, chain.contextTokens));
    return { ...first, turns: [...history, ...turns], mayBeEmpty: this.#hasChanged() };
  }

  /**
   * Returns whether a call of the run has changed something: that may be all that was asked for
   * (DECISIONS.md#an-empty-answer-is-a-failure).
   */
  #hasChanged(): boolean {
    const changing = new Set(this.#tools.flatMap(({ slug, mutating }) => (mutating ? [slug] : [])));
    return this.#record.actions.some(({ status, tool }) => status === 'completed' && changing.has(tool));
  }

  /** Stores the turn and its calls. */
  async #keep(step: StepRow, completion: Completion): Promise<void> {
    const { run, admit, readTools } = this.#options;
    if (completion.calls.length > 0) this.#tools = await admit(readTools);
    const ready = completion.calls.flatMap((call, position) => this.#ready(call, position) ?? []);
    const kept = await this.#change(async (tx) => {
      const completed = await completeStep(tx, step, completion);
      const actions = await insertActions(tx, step, ready);
      await enqueueRunUpdated(tx, await updateRun(tx, run.id, {}));
      return { completed, actions };
    });
    this.#record.steps.push(kept.completed);
    this.#record.actions.push(...kept.actions);
  }

  async #fail(step: StepRow, failed: Pick<FailedStep, 'text' | 'failovers'>, thrown: unknown): Promise<void> {
    const { database, run, admit } = this.#options;
    if (thrown instanceof Stop && thrown.reason === 'lost') return;
    await admit(() =>
      database.transaction(async (tx) => {
        if ((await lockClaimed(tx, run)) === undefined) return;
        await failStep(tx, step, { ...failed, error: reasonOf(thrown), incomplete: cutBy(thrown) });
      }),
    );
  }

  #ready(call: StoredCall, position: number): ReadyCall | undefined {
    const parsed = this.#parse(call);
    if (typeof parsed === 'string') return undefined;
    const { tool, args } = parsed;
    const needsReview = tool.needsReview || (this.#options.isStartedByMail && tool.reachesOutside(args));
    const { slug, category } = tool;
    return { needsReview, position, call_id: call.id, tool: slug, category, arguments: call.arguments };
  }

  /** Returns the tool of a call and its arguments, or why the call cannot be executed. */
  #parse(call: StoredCall): { readonly tool: RunTool; readonly args: Record<string, unknown> } | string {
    const tool = this.#tools.find(({ spec }) => spec.name === call.name);
    if (tool === undefined) return `There is no tool ${call.name}.`;
    try {
      return { tool, args: parseArguments(tool, call.arguments) };
    } catch (error) {
      if (error instanceof ToolRefusal) return error.message;
      throw error;
    }
  }

  /** Executes each allowed call once: a call that a dead node has begun is not begun again. */
  async #executeAllowed(): Promise<void> {
    const { database, signal, admit } = this.#options;
    for (const [index, action] of this.#record.actions.entries()) {
      if (action.status !== 'approved') continue;
      signal.throwIfAborted();
      const begun = await this.#change((tx) => beginAction(tx, action));
      const outcome = await this.#call(begun);
      this.#record.actions[index] =
        'awaits' in outcome
          ? await this.#change((tx) => awaitAnswer(tx, begun, outcome.awaits))
          : await admit(() => endAction(database, begun, outcome));
    }
  }

  async #call(action: ActionRow): Promise<ActionOutcome | { readonly awaits: string }> {
    const { run, principal, signal, log, admit, readTools } = this.#options;
    this.#tools = await admit(readTools);
    const tool = this.#tools.find(({ slug }) => slug === action.tool);
    if (tool === undefined) return { move: 'fail', error: 'The agent has this tool no more.' };
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
    try {
      const called = tool.call(parseArguments(tool, action.arguments), {
        accountId: run.account_id,
        runId: run.id,
        conversationId: run.conversation_id,
        actionId: action.id,
        principal: await principal(),
        trace: this.#trace,
        signal: deadline,
      });
      // A store that hangs does not react to signals.
      const { output, awaits } = await unlessAborted(called, deadline);
      return awaits === undefined ? { move: 'complete', result: output } : { awaits };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ToolRefusal)
        return { move: 'fail', error: `${error.condition}: ${error.message}` };
      if (deadline.aborted) return { move: 'fail', error: 'timeout: The tool took too long.' };
      log.error({ err: error, tool: tool.slug }, 'tool failed');
      return { move: 'fail', error: 'The tool failed.' };
    }
  }

  /** Completes the text so far as a message, so that no text stays open while the run waits. */
  async #pause(move: 'pause' | 'ask'): Promise<'paused'> {
    const { run, reply } = this.#options;
    await settleReply(this.#options, run, reply);
    await this.#change(async (tx) => {
      await reply.finish(tx, await unattachedArtifacts(tx, run.id), null);
      const paused = { status: RUN_MOVES[move].to, owner: null, lease_until: null };
      const row = await updateRun(tx, run.id, paused);
      // Every answer may have come while the text was completed.
      if (move === 'ask') return void (await continueIfAnswered(tx, row));
      await enqueueRunUpdated(tx, row);
      await enqueue(tx, RUN_APPROVAL, { run_id: run.id });
    });
    return 'paused';
  }

  async #complete(): Promise<'completed'> {
    const { database, run, reply, admit } = this.#options;
    await settleReply(this.#options, run, reply);
    const ids = await admit(() => artifactsOf(database, run.id));
    // If this claim wrote nothing, the message of an earlier claim is the reply.
    const messageId = reply.messageId ?? run.reply_message_id;
    const output = {
      text: textOf(this.#record.steps),
      ...(messageId !== null && { message_id: messageId }),
      ...(ids.length > 0 && { artifacts: ids }),
    };
    const { incomplete } = this.#record.steps.at(-1)!;
    const ending = { move: 'complete', output } as const;
    const isEnded = await endClaimed({ database, admit }, run, reply, ending, incomplete);
    if (!isEnded) throw new Stop('lost');
    return 'completed';
  }

  /** Runs `work` under the claim, unless a cancel was requested. Throws Stop. */
  #change<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const { database, run, admit } = this.#options;
    return admit(() =>
      database.transaction(async (tx) => {
        const row = await lockClaimed(tx, run);
        if (row === undefined) throw new Stop('lost');
        if (row.cancel_requested_at !== null) throw new Stop('cancelled');
        return work(tx);
      }),
    );
  }
}

/** Time limit of one call, in milliseconds. */
const CALL_MS = 60_000;

/**
 * Ends a claimed run and its text in one transaction, or returns false if the claim is lost.
 * `incomplete`: why the text is not whole, or null.
 */
export async function endClaimed(
  { database, admit }: Pick<ExecutionOptions, 'database' | 'admit'>,
  run: RunRow,
  reply: AgentReply | null,
  ending: Ending,
  incomplete: IncompleteReason | null = 'error',
): Promise<boolean> {
  if (reply !== null) {
    try {
      await settleReply({ database, admit }, run, reply);
    } catch (error) {
      // The message counts as not begun. A run that fails or is cancelled ends without it.
      if (ending.move === 'complete') throw error;
    }
  }
  return admit(() =>
    database.transaction(async (tx) => {
      const row = await lockClaimed(tx, run);
      if (row === undefined) return false;
      await reply?.finish(tx, await unattachedArtifacts(tx, run.id), incomplete);
      await endRun(tx, row, ending);
      return true;
    }),
  );
}

/** Settles the reply; files get a message of their own if the run wrote no text. */
async function settleReply(
  { database, admit }: Pick<ExecutionOptions, 'database' | 'admit'>,
  run: RunRow,
  reply: AgentReply,
): Promise<void> {
  if (run.conversation_id !== null && reply.messageId === null) {
    if (await admit(() => hasFilesToShow(database, run))) reply.open();
  }
  await reply.settle();
}

/** Returns the text of all turns, also before a pause, within the bounds of a message. */
function textOf(steps: readonly StepRow[]): string {
  const texts = steps.flatMap(({ status, text }) => (status === 'completed' && text ? [text] : []));
  const joined = new ReplyText();
  joined.append(texts.join(BLANK_LINE));
  return joined.body;
}
