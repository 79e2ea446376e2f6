import type { UIMessageChunk } from 'ai';
import type { Client } from '../client.ts';
import type { RunChunks } from './run-chunks.ts';
import { shownSteps } from './shown-steps.ts';

export interface RunStreamOptions {
  readonly client: Pick<Client, 'run' | 'on'>;
  readonly runId: string;
  readonly chunks: RunChunks;
  /** Ends only the stream; the run goes on. */
  readonly signal: AbortSignal | undefined;
  /** Called once the stream has the run up to its end or pause. */
  readonly finished: () => void;
}

/**
 * Returns the stream of a run: it ends with the run, or where the run waits for people. The client
 * heals lost connections; where it cannot, the stream fails with the TypeError that the AI SDK
 * takes for a disconnect.
 */
export function runStream(options: RunStreamOptions): ReadableStream<UIMessageChunk> {
  const { client, runId, chunks, signal, finished } = options;
  let release = () => {};
  return new ReadableStream<UIMessageChunk>({
    start(controller) {
      const run = client.run(runId);
      const fail = (error: unknown) => {
        release();
        controller.error(error);
      };
      const show = () => {
        const { run: state, error } = run.snapshot;
        const made = state === null ? [] : chunks.next(shownSteps(run.snapshot));
        const last = state === null ? [] : chunks.end(state, run.snapshot.steps);
        for (const chunk of [...made, ...last]) controller.enqueue(chunk);
        if (last.length > 0) {
          release();
          controller.close();
          finished();
        } else if (error !== null && !error.isTransient) {
          fail(LOST.has(error.code) ? disconnected(error) : error);
        }
      };
      const aborted = () => fail(signal?.reason);
      const releases = [
        () => run.close(),
        run.on('change', show),
        client.on('end', (end) => fail(disconnected(end))),
        () => signal?.removeEventListener('abort', aborted),
      ];
      release = () => {
        for (const one of releases.splice(0)) one();
      };
      controller.enqueue({ type: 'start', messageId: runId });
      if (signal?.aborted) aborted();
      else {
        signal?.addEventListener('abort', aborted);
        show();
      }
    },
    cancel: () => release(),
  });
}

function disconnected(cause: unknown): TypeError {
  return new TypeError('The network connection was lost and will not come back.', { cause });
}

const LOST: ReadonlySet<string> = new Set(['client_closed', 'connection_ended', 'network']);
