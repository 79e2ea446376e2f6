import type { AgentRun } from '@parley/protocol/resources/agent-run.ts';
import type { Client } from '../client.ts';
import { ParleyError } from '../errors/parley-error.ts';

export interface StartedRunOptions {
  readonly conversationId: string;
  /** The id of the message that starts the run. */
  readonly messageId: string;
  readonly patienceMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Resolves with the id of the run that a message starts, shortly after it was sent. Rejects with
 * ParleyError `resource_not_found` if no agent answers it, or with the signal's reason.
 */
export async function startedRun(
  client: Pick<Client, 'runs' | 'on'>,
  { conversationId, messageId, patienceMs, signal }: StartedRunOptions,
): Promise<string> {
  let heard: string | undefined;
  let wake = () => {};
  const unlisten = client.on('agent_run.updated', (run) => {
    if (!isStartedBy(run, messageId)) return;
    heard ??= run.id;
    wake();
  });
  const endsAt = Date.now() + patienceMs;
  try {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const { value } = await client.runs.list({ conversation_id: conversationId, limit: 100 }).next();
      signal?.throwIfAborted();
      const runs: readonly AgentRun[] = value?.data ?? [];
      const id = heard ?? runs.find((run) => isStartedBy(run, messageId))?.id;
      if (id !== undefined) return id;
      if (Date.now() >= endsAt) {
        throw new ParleyError('resource_not_found', 'No agent of the conversation answers this message.');
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        signal?.addEventListener('abort', wake, { once: true });
      });
      signal?.removeEventListener('abort', wake);
      signal?.throwIfAborted();
      if (heard !== undefined) return heard;
    }
  } finally {
    unlisten();
  }
}

/** Returns whether this message started the run. */
export function isStartedBy({ input }: Pick<AgentRun, 'input'>, messageId: string): boolean {
  return (input as { readonly message_id?: unknown } | null)?.message_id === messageId;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
