import {
  type PeriodField,
  RETAINED,
  type RetentionPolicy,
  type SetRetentionPolicyBody,
} from '../../contract/protocol/resources/retention-policy.ts';
import { audit } from '../../core/audit/audit.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

export type Periods = Readonly<Record<PeriodField, number | null>>;

/** The policy of an account, as a row of Postgres. */
export type PolicyRow = Periods & {
  readonly account_id: string;
  readonly updated_at: string;
  /** When a sweep last found nothing more to purge. */
  readonly swept_at: string | null;
};

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
  { accountId, actor }: { readonly accountId: string; readonly actor: { readonly id: string } },
  body: SetRetentionPolicyBody,
): Promise<RetentionPolicy> {
  const periods = periodsOf(body);
  await tx.query(CREATE_POLICY, accountId);
  const [known] = await tx.query(LOCK_POLICY, accountId);
  const before = periodsOf(known!);
  if (isSame(before, periods)) return present(known);
  const values = FIELDS.map((field) => periods[field]) as PeriodValues;
  const [row] = await tx.query(WRITE_POLICY, accountId, ...values);
  await audit(tx, {
    accountId,
    conversationId: null,
    actorId: actor.id,
    action: 'retention.changed',
    details: { before, after: periods },
  });
  return present(row);
}

/** Notes that the account has nothing left that is older than its policy. */
export async function noteSwept(db: Db, accountId: string): Promise<void> {
  await db.query(NOTE_SWEPT, accountId);
}

function periodsOf(fields: Partial<Periods>): Periods {
  return Object.fromEntries(FIELDS.map((field) => [field, fields[field] ?? null])) as Periods;
}

function isSame(one: Periods, other: Periods): boolean {
  return FIELDS.every((field) => one[field] === other[field]);
}

function present(row: PolicyRow | undefined): RetentionPolicy {
  return { object: 'retention_policy', ...periodsOf(row ?? {}), updated_at: row?.updated_at ?? null };
}

const COLUMNS = `account_id, ${FIELDS.join(', ')}, updated_at, swept_at`;

type PeriodValues = [
  messages: number | null,
  files: number | null,
  notifications: number | null,
  runs: number | null,
  audit: number | null,
];

const READ_POLICY = statement<[accountId: string], PolicyRow>('read-retention-policy')`
    SELECT ${COLUMNS} FROM retention_policies WHERE account_id = $1`;

const READ_POLICIES = statement<[], PolicyRow>('read-retention-policies')`
    SELECT ${COLUMNS} FROM retention_policies WHERE coalesce(${FIELDS.join(', ')}) IS NOT NULL ORDER BY account_id`;

// Ensures that there is a row to lock.
const CREATE_POLICY = statement<[accountId: string]>('create-retention-policy')`
    INSERT INTO retention_policies (account_id) VALUES ($1) ON CONFLICT DO NOTHING`;

const LOCK_POLICY = statement<[accountId: string], PolicyRow>('lock-retention-policy')`
    SELECT ${COLUMNS} FROM retention_policies WHERE account_id = $1 FOR UPDATE`;

const WRITE_POLICY = statement<[accountId: string, ...PeriodValues], PolicyRow>('write-retention-policy')`
    UPDATE retention_policies SET ${FIELDS.map((field, index) => `${field} = $${index + 2}`).join(', ')},
      swept_at = NULL, updated_at = later_than(updated_at)
    WHERE account_id = $1 RETURNING ${COLUMNS}`;

const NOTE_SWEPT = statement<[accountId: string]>('note-retention-sweep')`
    UPDATE retention_policies SET swept_at = clock_timestamp() WHERE account_id = $1`;
