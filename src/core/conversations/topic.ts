import { notFound } from '../../contract/protocol/errors.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { type EntityRef, readEntities, refKey } from '../resources/entity.ts';

/**
 * Returns the ref of the resource that a body names as topic. Throws `resource_not_found` (param
 * topic.id) if the account has no such resource.
 */
export async function findTopic(tx: Tx, accountId: string, topic: EntityRef): Promise<EntityRef> {
  const found = await readEntities(tx, accountId, [topic]);
  const resource = found.get(refKey(topic));
  if (resource !== undefined) return { type: resource.type, id: resource.id };
  throw notFound('resource', 'topic.id');
}
