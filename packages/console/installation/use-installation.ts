import type { Client } from '@parley/client';
import type {
  Installation,
  InstallationCheck,
  InstallationNode,
} from '@parley/protocol/resources/installation.ts';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { useEffect, useState } from 'preact/hooks';
import { secondsToAsk, withAnswer } from './history.ts';

/** What is known of the installation. */
export interface Known {
  readonly nodes: readonly InstallationNode[];
  readonly checks: readonly InstallationCheck[];
  /** Why the last request was not answered; null if it was. */
  readonly problem: string | null;
}

/**
 * Asks every two seconds while the page is in sight. Returns null before the first answer.
 * `onGone`: the person is no operator any more.
 */
export function useInstallation(client: Client, onGone: () => void): Known | null {
  const [known, setKnown] = useState<Known | null>(null);
  const gone = useEvent(onGone);
  useEffect(() => {
    const stopped = new AbortController();
    const asking = async () => {
      let answeredMs = Number.NEGATIVE_INFINITY;
      while (!stopped.signal.aborted) {
        await inSight(stopped.signal);
        const beganMs = performance.now();
        try {
          const seconds = secondsToAsk(beganMs - answeredMs);
          const { signal } = stopped;
          const path = `/v1/installation?history_seconds=${seconds}`;
          const answer = await client.fetch<Installation>(path, { signal });
          answeredMs = beganMs;
          setKnown((before) => ({
            nodes: withAnswer(before?.nodes ?? [], answer.nodes),
            checks: answer.checks,
            problem: null,
          }));
        } catch (error) {
          if (stopped.signal.aborted) return;
          const { message, status } = error as Error & { readonly status?: number };
          if (status === 404) {
            gone();
            return;
          }
          setKnown((before) => ({ nodes: [], checks: [], ...before, problem: message }));
        }
        await pause(ASK_EVERY_MS, stopped.signal);
      }
    };
    void asking();
    return () => stopped.abort();
  }, [client, gone]);
  return known;
}

const ASK_EVERY_MS = 2_000;

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Resolves when the page is in sight. */
function inSight(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true, signal });
    signal.addEventListener('abort', () => resolve());
  });
}
