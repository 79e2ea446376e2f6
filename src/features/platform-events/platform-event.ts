import type { Selectable } from 'kysely';
import { PlatformEvent } from '../../contract/protocol/resources/platform-event.ts';
import { presentAs } from '../../core/resources/present-as.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';

export type PlatformEventRow = Selectable<Schema['platform_events']>;

export function presentEvent(row: PlatformEventRow): PlatformEvent {
  return presentAs(PlatformEvent, { ...row, data: { ...row.data } });
}
