import type { ColumnType } from 'kysely';
import type { Time } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends PlatformEventTables {}
}

interface PlatformEventTables {
  /** Events of producers, kept for 30 days. */
  platform_events: {
    id: string;
    account_id: string;
    type: string;
    event_id: string | null;
    data: ColumnType<Readonly<Record<string, unknown>>, string, string>;
    resource_type: string | null;
    resource_id: string | null;
    created_by: string;
    created_at: Time;
  };
}
