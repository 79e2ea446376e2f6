import { readFile } from 'node:fs/promises';
import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

export const replaces = {
  names: [
    ...['0001_first', '0002_agents', '0003_contract', '0004_agent_runs', '0005_one_schema'],
    ...['0006_message_authorship', '0007_messages', '0008_conversations', '0009_run_traces'],
    ...['0010_notification_ids', '0011_roster_versions', '0012_storage_settings'],
    ...['0013_moment_of_message', '0014_retention', '0015_removal', '0016_compliance_jobs'],
    ...['0017_audit_chain', '0018_webhooks', '0019_completeness', '0020_notification_settings'],
    ...['0021_push', '0022_platform_events', '0023_mail', '0024_mails_without_message'],
    ...['0025_inbox', '0026_reading', '0027_directory', '0028_reactions', '0029_search'],
    ...['0030_lighter_notes', '0031_replaying', '0032_tokens_ended', '0034_search_waits'],
    ...['0035_left_out', '0036_search_entries', '0037_shown_in_lists', '0038_external_ids'],
    ...['0039_metadata', '0040_identity_providers', '0041_sign_ins', '0042_imported_messages'],
    ...['0043_imports', '0044_operators', '0045_widgets', '0046_invitations', '0047_cells'],
  ],
  commit: '72edde5f5524d1f2e6edbf3dad706587a9855ac9',
};

/**
 * The baseline: makes the schema of a new database, as the migrations 0001 to 0048 made it. It has
 * the name of the last of them.
 *
 * Ids are text under the "C" collation: they sort by their bytes, which grow with time.
 * Enumerations are text, whose values are in packages/protocol/. A row that clients are streamed
 * has `changed_in`, the transaction that last wrote it, which a resume cursor is compared with.
 * `metadata` is what an application keeps with a row: an object of texts, or null. The defaults of
 * `created_at` and `updated_at` are one time in a row that shows both, so that nothing new looks
 * changed. Indexes that came later to tables that may be large are in src/core/tables/indexes.ts.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const area of AREAS) {
    const statements = await readFile(new URL(`baseline/${area}.sql`, import.meta.url), 'utf8');
    await sql.raw(statements).execute(db);
  }
}

/** In the order in which they refer to one another. */
const AREAS = [
  ...['accounts', 'sign-in', 'files', 'conversations', 'messages', 'notifications', 'commits'],
  ...['agents', 'compliance', 'webhooks', 'mail', 'widgets', 'imports', 'activity', 'search'],
];
