import type { AgentRun, AgentRunAction, AgentRunStep } from '@parley/protocol/resources/agent-run.ts';
import type { UIMessage, UIMessageChunk } from 'ai';
import type { ShownStep } from './shown-steps.ts';

/**
 * Turns the states of a run into chunks that lead from the previous state to the new one. Text that
 * was taken back, by a failed attempt or a node that died, is a `reset-step`.
 */
export class RunChunks {
  /** The position of the turn that is being shown; -1 before the first. */
  #step = -1;
  #text = '';
  #isTextOpen = false;
  /** Number of chunks that were made for each call, by its id. */
  readonly #calls = new Map<string, number>();

  /** `message`: the shown part of the run, which the chunks continue. */
  constructor(message?: Pick<UIMessage, 'parts'>) {
    for (const part of message?.parts ?? []) {
      if (part.type === 'step-start') {
        this.#step += 1;
        this.#text = '';
      } else if (part.type === 'text') this.#text += part.text;
      else if ('toolCallId' in part) this.#calls.set(part.toolCallId, MADE[part.state] ?? EVERY_CHUNK);
    }
  }

  /** Returns the chunks that lead to these turns. */
  next(steps: readonly ShownStep[]): UIMessageChunk[] {
    const chunks: UIMessageChunk[] = [];
    for (const step of steps.slice(0, Math.max(0, this.#step))) chunks.push(...this.#call(step));
    if (this.#step >= 0) chunks.push(...this.#write(steps[this.#step] ?? { text: '', calls: [] }));
    for (const step of steps.slice(this.#step + 1)) {
      chunks.push(...this.#leave(), { type: 'start-step' });
      this.#step += 1;
      this.#text = '';
      chunks.push(...this.#write(step));
    }
    return chunks;
  }

  /**
   * Returns the last chunks if the run has ended or waits for people, otherwise nothing. `steps`:
   * its turns.
   */
  end(
    { status, error_message }: Pick<AgentRun, 'status' | 'error_message'>,
    steps: readonly Pick<AgentRunStep, 'incomplete'>[],
  ): UIMessageChunk[] {
    const isCut = status === 'completed' && steps.at(-1)?.incomplete === 'length';
    const last = isCut ? CUT : ENDS[status];
    if (last === undefined) return [];
    const chunks = [...this.#leave(), ...last];
    if (status === 'failed') chunks.push({ type: 'error', errorText: error_message ?? 'The run failed.' });
    return chunks;
  }

  #write(step: ShownStep): UIMessageChunk[] {
    const chunks: UIMessageChunk[] = [];
    if (!this.#isContinuedBy(step)) {
      chunks.push({ type: 'reset-step' });
      this.#text = '';
      this.#isTextOpen = false;
      for (const { id } of step.calls) this.#calls.delete(id);
    }
    const id = `text-${this.#step}`;
    const delta = step.text.slice(this.#text.length);
    if (delta !== '') {
      if (!this.#isTextOpen) chunks.push({ type: 'text-start', id });
      chunks.push({ type: 'text-delta', id, delta });
      this.#text = step.text;
      this.#isTextOpen = true;
    }
    if (step.calls.length > 0) chunks.push(...this.#closeText(), ...this.#call(step));
    return chunks;
  }

  /** Returns whether the turn extends its shown part. No text follows a closed text. */
  #isContinuedBy({ text, calls }: ShownStep): boolean {
    if (text === this.#text) return true;
    if (!text.startsWith(this.#text)) return false;
    return this.#isTextOpen || (this.#text === '' && !calls.some(({ id }) => this.#calls.has(id)));
  }

  #call({ calls }: ShownStep): UIMessageChunk[] {
    return calls.flatMap((call) => {
      const chunks = chunksOfCall(call);
      const made = this.#calls.get(call.id) ?? 0;
      this.#calls.set(call.id, Math.max(made, chunks.length));
      return chunks.slice(made);
    });
  }

  #closeText(): UIMessageChunk[] {
    if (!this.#isTextOpen) return [];
    this.#isTextOpen = false;
    return [{ type: 'text-end', id: `text-${this.#step}` }];
  }

  #leave(): UIMessageChunk[] {
    return this.#step < 0 ? [] : [...this.#closeText(), { type: 'finish-step' }];
  }
}

/** Returns all chunks of a call up to its state; a later state only adds chunks. */
function chunksOfCall(call: AgentRunAction): UIMessageChunk[] {
  const { id: toolCallId, tool: toolName, arguments: input, status, reason, error_message } = call;
  // The server executes the call, so useChat needs no result of the page.
  const chunks: UIMessageChunk[] = [
    { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true, providerExecuted: true },
  ];
  const isRefused = status === 'rejected' || status === 'expired';
  if (call.expires_at !== null) {
    chunks.push({ type: 'tool-approval-request', approvalId: toolCallId, toolCallId });
    if (isRefused || call.reviewed_at !== null) {
      const given = status === 'expired' ? 'Not decided in time.' : reason;
      chunks.push({
        type: 'tool-approval-response',
        approvalId: toolCallId,
        approved: !isRefused,
        ...(given === null ? {} : { reason: given }),
      });
    }
  }
  if (isRefused) chunks.push({ type: 'tool-output-denied', toolCallId });
  else if (status === 'completed') {
    chunks.push({ type: 'tool-output-available', toolCallId, output: call.result, providerExecuted: true });
  } else if (status === 'failed' || status === 'cancelled') {
    const errorText = error_message ?? 'The call was not executed.';
    chunks.push({ type: 'tool-output-error', toolCallId, errorText, providerExecuted: true });
  }
  return chunks;
}

const EVERY_CHUNK = Number.POSITIVE_INFINITY;

/** The number of chunks up to each state of a part that shows a call. */
const MADE: Readonly<Record<string, number>> = {
  'input-available': 1,
  'approval-requested': 2,
  'approval-responded': 3,
};

/** The end of a run whose model has reached its limit. */
const CUT: readonly UIMessageChunk[] = [{ type: 'finish', finishReason: 'length' }];

const ENDS: Readonly<Partial<Record<AgentRun['status'], readonly UIMessageChunk[]>>> = {
  completed: [{ type: 'finish', finishReason: 'stop' }],
  awaiting_approval: [{ type: 'finish', finishReason: 'tool-calls' }],
  // The error comes last: the AI SDK reads nothing after it.
  failed: [{ type: 'finish', finishReason: 'error' }],
  cancelled: [
    { type: 'abort', reason: 'The run was cancelled.' },
    { type: 'finish', finishReason: 'interrupted' },
  ],
};
