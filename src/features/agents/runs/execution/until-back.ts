import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable } from '../../../../platform/db/connection/unavailable.ts';
import { Stop } from './failure.ts';

const MAX_MS = 30_000;
const AGAIN_MS = 500;

/**
 * Retries work while Postgres is unavailable: the text of a model is worth some seconds of waiting.
 * Work that was committed although its answer was lost is not done twice: fences, states and keys
 * reject it. `signal` ends the wait when the server stops.
 */
export async function untilBack<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (const beganMs = performance.now(); ; await delay(AGAIN_MS)) {
    try {
      return await work();
    } catch (error) {
      const isStopping = signal.reason instanceof Stop && signal.reason.reason === 'stopping';
      if (isStopping || !isUnavailable(error) || performance.now() - beganMs > MAX_MS) throw error;
    }
  }
}
