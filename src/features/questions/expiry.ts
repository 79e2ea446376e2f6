import type { NodeParts } from '../../core/features/feature.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';
import { HAS_DUE, readDue } from './question-store.ts';
import { endUnanswered } from './questions.ts';

const MAX_AT_ONCE = 100;

/** Ends open questions at their end, on whichever node looks first. */
export function openExpiry({ database, watch, log }: Pick<NodeParts, 'database' | 'watch' | 'log'>): Loop {
  const loop = new Loop({
    intervalMs: UNWOKEN_EVERY_MS,
    run: (signal) => expireDue(database, signal),
    onError: (error) => log.warn({ err: error }, 'expiring questions failed'),
  });
  watch.add({ name: 'questions', condition: HAS_DUE, onDue: () => loop.wake() });
  return loop;
}

async function expireDue(database: Database, signal: AbortSignal): Promise<void> {
  for (let due = MAX_AT_ONCE; due === MAX_AT_ONCE && !signal.aborted; ) {
    const found = await readDue(database, MAX_AT_ONCE);
    // The lock of each message decides between nodes, and between the end and an answer.
    for (const key of found) await database.transaction((tx) => endUnanswered(tx, key, 'expire'));
    due = found.length;
  }
}
