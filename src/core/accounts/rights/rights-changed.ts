import type { Tx } from '../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import { defineTopic } from '../../../platform/db/queue/topic.ts';

/** Makes every node drop these rights from its cache (api/access/rights.ts). */
export const RIGHTS_CHANGED = defineTopic<RightsChanged>('rights.changed');

export interface RightsChanged {
  /** Ids of keys, actors, roles or accounts. */
  readonly subjects: readonly string[];
}

/**
 * Enqueues it in the transaction of the change, so that nodes get it even from the admin command.
 */
export async function enqueueRightsChanged(tx: Tx, subjects: readonly string[]): Promise<void> {
  await enqueue(tx, RIGHTS_CHANGED, { subjects });
}

/**
 * The name or image of an actor has changed, for open screens
 * (core/conversations/participants/changed-actor.ts).
 */
export const ACTOR_CHANGED = defineTopic<ActorChanged>('actors.changed');

export interface ActorChanged {
  readonly actor_id: string;
}

/** Enqueues it in the transaction of the change; nodes also drop the actor from their caches. */
export async function enqueueActorChanged(tx: Tx, actorId: string): Promise<void> {
  await enqueueRightsChanged(tx, [actorId]);
  await enqueue(tx, ACTOR_CHANGED, { actor_id: actorId });
}
