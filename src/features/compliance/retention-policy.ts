import {
  type PeriodField,
  RETAINED,
  type RetentionPolicy,
  type SetRetentionPolicyBody,
} from '@parley/protocol/resources/retention-policy.ts';
import type { Selectable } from 'kysely';
import type { Principal } from '../../api/access/principal.ts';
import { auditAccount } from '../../core/audit/audit.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';

type Periods = Readonly<Record<PeriodField, number | null>>;

export type PolicyRow = Omit<Selectable<Schema['retention_policies']>, 'created_at'>;

const FIELDS: readonly PeriodField[] = RETAINED.map((kind) => `${kind}_days` as const);

/** Returns the account's policy; an unset policy keeps everything. */
export async function readPolicy(db: Db, accountId: string): Promise<RetentionPolicy> {
  const [row] = await db.query(READ_POLICY, accountId);
  return present(row);
}

/** Returns the policies that purge something. */
export function readPolicies(db: Db): Promise<PolicyRow[]> {
  return db.query(READ_POLICIES);
}

/** Replaces the account's policy and audits the changes; an equal policy changes nothing. */
export async function setPolicy(
  tx: Tx,
  principal: Principal,
  body: SetRetentionPolicyBody,
): Promise<RetentionPolicy> {
  const { accountId } = principal;
  const periods = periodsOf(body);
  await tx.query(CREATE_POLICY, accountId);
  const [known] = await tx.query(LOCK_POLICY, accountId);
  const before = periodsOf(known!);
  if (FIELDS.every((field) => before[field] === periods[field])) return present(known);
  const [row] = await tx.query(WRITE_POLICY, accountId, ...FIELDS.map((field) => periods[field]));
  await auditAccount(tx, principal, 'retention.changed', { before, after: periods });
  return present(row);
}

/** Notes that the account has no rows left that are older than its policy. */
export async function noteSwept(db: Db, accountId: string): Promise<void> {
  await db.query(NOTE_SWEPT, accountId);
}

function periodsOf(fields: Partial<Periods>): Periods {
  return Object.fromEntries(FIELDS.map((field) => [field, fields[field] ?? null])) as Periods;
}

function present(row: PolicyRow | undefined): RetentionPolicy {
  return { object: 'retention_policy', ...periodsOf(row ?? {}), updated_at: row?.updated_at ?? null };
}

const COLUMNS = `account_id, ${FIELDS.join(', ')}, updated_at, swept_at`;

const READ_POLICY = statement<[accountId: string], PolicyRow>('read-retention-policy')`
    SELECT ${COLUMNS} FROM retention_policies WHERE account_id = $1`;

const READ_POLICIES = statement<[], PolicyRow>('read-retention-policies')`
    SELECT ${COLUMNS} FROM retention_policies WHERE coalesce(${FIELDS.join(', ')}) IS NOT NULL ORDER BY account_id`;

// Ensures that there is a row to lock.
const CREATE_POLICY = statement<[accountId: string]>('create-retention-policy')`
    INSERT INTO retention_policies (account_id) VALUES ($1) ON CONFLICT DO NOTHING`;

const LOCK_POLICY = statement<[accountId: string], PolicyRow>('lock-retention-policy')`
    SELECT ${COLUMNS} FROM retention_policies WHERE account_id = $1 FOR UPDATE`;

const WRITE_POLICY = statement<[accountId: string, ...days: (number | null)[]], PolicyRow>(
  'write-retention-policy',
)`
    UPDATE retention_policies SET ${FIELDS.map((field, index) => `${field} = $${index + 2}`).join(', ')},
      swept_at = NULL, updated_at = later_than(updated_at)
    WHERE account_id = $1 RETURNING ${COLUMNS}`;

const NOTE_SWEPT = statement<[accountId: string]>('note-retention-sweep')`
    UPDATE retention_policies SET swept_at = clock_timestamp() WHERE account_id = $1`;
