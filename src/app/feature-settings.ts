import type { Feature } from '../core/features/feature.ts';
import type { Database } from '../platform/db/connection/database.ts';
import { statement } from '../platform/db/connection/statement.ts';
import { SETTINGS_OF_FEATURES } from './left-out.ts';

/**
 * Writes into `settings` which features with triggers this node has; called at the start and every
 * minute. Its triggers fire as long as any node has it: a feature counts as left out when no node
 * has reported it for three minutes (docs/decisions.md#what-is-left-out-is-said-in-settings).
 */
export async function noteFeatures(database: Database, features: readonly Feature[]): Promise<void> {
  for (const name of SETTINGS_OF_FEATURES) {
    const isThere = features.some(({ setting }) => setting === name);
    await database.query(isThere ? NOTE_THERE : NOTE_LEFT_OUT, name);
  }
}

const NOTE_THERE = statement<[setting: string]>('note-feature-there')`
    INSERT INTO settings (name, value) VALUES ($1, 'there')
    ON CONFLICT (name) DO UPDATE SET value = 'there', created_at = clock_timestamp()`;

// Nodes of the previous version write no row, so a new row first says that the feature is there.
const NOTE_LEFT_OUT = statement<[setting: string]>('note-feature-left-out')`
    INSERT INTO settings AS s (name, value) VALUES ($1, 'there')
    ON CONFLICT (name) DO UPDATE SET value = 'left out'
      WHERE s.value <> 'left out' AND s.created_at < clock_timestamp() - interval '3 min'`;
