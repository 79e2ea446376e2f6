import type { Tx } from '../../platform/db/connection/handle.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import { defineTopic } from '../../platform/db/queue/topic.ts';

/** Every node drops what it has cached of these rights (platform/access/rights.ts). */
export const RIGHTS_CHANGED = defineTopic<RightsChanged>('rights.changed');

export interface RightsChanged {
  /** Ids of keys, actors, roles or accounts. */
  readonly subjects: readonly string[];
}

/**
 * Part of the transaction of the change, so that nodes receive it even if none of them made it (the
 * admin command).
 */
export async function enqueueRightsChanged(tx: Tx, subjects: readonly string[]): Promise<void> {
  await enqueue(tx, RIGHTS_CHANGED, { subjects });
}

/**
 * An actor has another name or image, which open screens are to show
 * (core/conversations/changed-actor.ts).
 */
export const ACTOR_CHANGED = defineTopic<ActorChanged>('actors.changed');

export interface ActorChanged {
  readonly actor_id: string;
}

/**
 * Part of the transaction of the change. What nodes have cached of the actor is read again, too.
 */
export async function enqueueActorChanged(tx: Tx, actorId: string): Promise<void> {
  await enqueueRightsChanged(tx, [actorId]);
  await enqueue(tx, ACTOR_CHANGED, { actor_id: actorId });
}
