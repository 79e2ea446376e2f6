import type { Selectable } from 'kysely';
import type { Schema } from '../db/schema.ts';
import type { Actor, MessagingGroup } from '../protocol/resources/actor.ts';

/** `members` is null unless the caller asked for them (docs/contract.md#groups). */
export function presentGroup(
  row: Selectable<Schema['messaging_groups']>,
  members: Actor[] | null,
): MessagingGroup {
  const { id, actor_id, name, created_at, updated_at } = row;
  return { id, object: 'messaging_group', actor_id, name, members, created_at, updated_at };
}
