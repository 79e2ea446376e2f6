import type { Selectable } from 'kysely';
import type { PlatformEvent } from '../../contract/protocol/resources/platform-event.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';

export type PlatformEventRow = Selectable<Schema['platform_events']>;

export function presentEvent({ account_id: _, ...row }: PlatformEventRow): PlatformEvent {
  const { id, type, event_id, data, resource_type, resource_id, created_by, created_at } = row;
  return {
    id,
    object: 'event',
    type,
    event_id,
    data: { ...data },
    resource_type,
    resource_id,
    created_by,
    created_at,
  };
}
