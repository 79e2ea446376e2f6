import type { Client } from '@parley/client';
import type { Installation, InstallationNode } from '@parley/protocol/resources/installation.ts';
import { type Resource, useResource } from '@parley/ui/hooks/resource.ts';
import { secondsToAsk, withAnswer } from './history.ts';

/** The known state of the installation. */
export interface Known extends Pick<Installation, 'checks'> {
  readonly nodes: readonly InstallationNode[];
  /** The time of the question, on the clock of the page. */
  readonly askedMs: number;
}

/** Asks every two seconds while the page is in sight. `onGone`: the person is no operator. */
export function useInstallation(client: Client, onGone: () => void): Resource<Known> {
  const read = async (signal: AbortSignal, known: Known | null): Promise<Known> => {
    const askedMs = performance.now();
    const seconds = secondsToAsk(askedMs - (known?.askedMs ?? Number.NEGATIVE_INFINITY));
    const path = `/v1/installation?history_seconds=${seconds}`;
    const answer = await client.fetch<Installation>(path, { signal }).catch((error) => {
      if (error.status === 404) onGone();
      throw error;
    });
    return { ...answer, nodes: withAnswer(known?.nodes ?? [], answer.nodes), askedMs };
  };
  return useResource('installation', read, { isMoving: () => true });
}
