import { ApiError, alreadyExists } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { MAX_AGENTS } from '@parley/protocol/resources/agent-definition.ts';
import { type Insertable, sql, type Updateable } from 'kysely';
import { createActor, writeActor } from '../../core/accounts/actors/actors.ts';
import { enqueueActorChanged, enqueueRightsChanged } from '../../core/accounts/rights/rights-changed.ts';
import type { AgentRow } from '../../core/resources/agent.ts';
import { externalActor } from '../../core/resources/external-ids.ts';
import type { AttachedTool } from '../../core/tables/agent-tables.ts';
import { FOLDED } from '../../core/tables/folded-tables.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { keysetList } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import type { ToolSetting } from './tools/rules.ts';
import { nextDue } from './triggers/cron.ts';
import type { StoredTrigger } from './triggers/rules.ts';
import { eventAgentsOf } from './triggers/triggers.ts';

/** An agent to insert: the columns of its definition that a caller decides about. */
export interface NewAgent
  extends Omit<Insertable<Schema['agent_definitions']>, 'id' | 'actor_id' | 'trigger_config' | 'tools'> {
  readonly trigger?: StoredTrigger | null;
  readonly tools?: readonly ToolSetting[];
  readonly external_id?: string | null | undefined;
}

/**
 * Inserts an active definition with its actor. Throws `resource_exists` (param slug or
 * external_id).
 */
export async function insertAgent(
  tx: Tx,
  { trigger = null, tools = [], external_id = null, ...columns }: NewAgent,
): Promise<AgentRow> {
  const { account_id, name, role_id = null } = columns;
  const actor = await createActor(tx, { account_id, type: 'agent', name, role_id, external_id });
  const now = await readClock(tx);
  const row = await tx.kysely
    .insertInto('agent_definitions')
    .values({
      ...columns,
      id: newId('agent'),
      actor_id: actor.id,
      trigger_config: trigger && JSON.stringify(trigger),
      tools: JSON.stringify(attach(tools, [], now)),
      next_due_at: dueBehind(trigger, now),
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'slug']).doNothing())
    .returningAll()
    .executeTakeFirst();
  // The error rolls the transaction back, including the actor.
  if (row === undefined) throw alreadyExists('agent', 'slug');
  if (row.trigger_type === 'event') await enqueueRightsChanged(tx, [eventAgentsOf(account_id)]);
  return row;
}

/**
 * Throws `limit_exceeded` with the quota; called after the insert. The lock serializes counting
 * until `tx` ends: two inserts at once would both find room for one agent. Sends are not blocked,
 * because their rows lock only the account's key.
 */
export async function requireRoom(tx: Tx, accountId: string): Promise<void> {
  const { plan } = await tx.kysely
    .selectFrom('accounts')
    .select('plan')
    .where('id', '=', accountId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  const { agents } = await tx.kysely
    .selectFrom('agent_definitions')
    .select(sql<number>`count(*)`.as('agents'))
    .where('account_id', '=', accountId)
    .where('definition_type', '=', 'custom')
    .executeTakeFirstOrThrow();
  const limit = MAX_AGENTS[plan];
  if (agents <= limit) return;
  const message = `The plan ${plan} allows ${limit} agents. Delete one, or upgrade the plan.`;
  throw new ApiError('limit_exceeded', message, { quota: { limit, used: agents - 1, reset_at: null } });
}

/** The fields of an agent that can change; omitted fields stay. */
export interface AgentChanges {
  readonly fields: Omit<Updateable<Schema['agent_definitions']>, 'trigger_config' | 'tools'>;
  readonly trigger?: StoredTrigger | null;
  /** Replaces all tools; a tool that is in both lists keeps its id. */
  readonly tools?: readonly ToolSetting[];
  /** Null removes it. */
  readonly externalId?: string | null;
}

/**
 * Updates a locked agent, and the name, role and external id of its actor with it. Throws
 * `resource_exists` (param external_id).
 */
export async function updateAgent(
  tx: Tx,
  row: AgentRow,
  { fields, trigger, tools, externalId }: AgentChanges,
): Promise<AgentRow> {
  const now = await readClock(tx, row.updated_at);
  const updated = await tx.kysely
    .updateTable('agent_definitions')
    .set({
      ...fields,
      ...(trigger !== undefined && { trigger_config: trigger && JSON.stringify(trigger) }),
      ...(tools !== undefined && { tools: JSON.stringify(attach(tools, row.tools, now)) }),
      next_due_at: dueAfter(row, fields, trigger, now),
      updated_at: now,
    })
    .where('id', '=', row.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const { account_id: accountId, name, role_id } = updated;
  if (row.trigger_type === 'event') await enqueueRightsChanged(tx, [eventAgentsOf(accountId)]);
  if (name !== row.name || role_id !== row.role_id || externalId !== undefined) {
    const set = { name, role_id, ...(externalId !== undefined && { external_id: externalId }) };
    await writeActor(tx, row.actor_id, 'agent', set);
    if (name === row.name) await enqueueRightsChanged(tx, [row.actor_id]);
    else await enqueueActorChanged(tx, row.actor_id);
  }
  return updated;
}

/**
 * Deletes the definition and frees its slug and external id. The actor remains as an author without
 * rights.
 */
export async function deleteAgent(tx: Tx, row: AgentRow): Promise<void> {
  await tx.kysely.deleteFrom('agent_definitions').where('id', '=', row.id).execute();
  const deactivated_at = sql<string>`clock_timestamp()`;
  await writeActor(tx, row.actor_id, 'agent', { deactivated_at, external_id: null });
  await enqueueRightsChanged(tx, [row.actor_id, eventAgentsOf(row.account_id)]);
}

/** Returns when a changed definition is due next. A time that is already due stays. */
function dueAfter(
  row: AgentRow,
  fields: AgentChanges['fields'],
  trigger: AgentChanges['trigger'],
  now: string,
): string | null {
  if ((fields.status ?? row.status) !== 'active') return null;
  const isKept = trigger === undefined && row.status === 'active';
  const isDue = row.next_due_at !== null && Date.parse(row.next_due_at) <= Date.parse(now);
  return isKept || isDue ? row.next_due_at : dueBehind(trigger ?? row.trigger_config, now);
}

/** Returns null if the agent has no schedule. */
function dueBehind(trigger: AgentRow['trigger_config'], now: string): string | null {
  const { cron_schedule, timezone } = trigger ?? {};
  if (cron_schedule === undefined || timezone === undefined) return null;
  return nextDue({ cron_schedule, timezone }, new Date(now))?.toISOString() ?? null;
}

/** Returns the time for a row and for its JSON, later than `earlier` if given. */
async function readClock(tx: Tx, earlier: string | null = null): Promise<string> {
  const [clock] = await tx.query(READ_CLOCK, earlier);
  return clock!.now;
}

const READ_CLOCK = statement<[earlier: string | null], { readonly now: string }>('read-clock-of-agents')`
    SELECT coalesce(later_than($1::timestamptz), clock_timestamp()) AS now`;

/** Attaches tools by `sort_order`. A tool attached before keeps its id and creation time. */
function attach(
  settings: readonly ToolSetting[],
  before: readonly AttachedTool[],
  now: string,
): AttachedTool[] {
  const attached = settings.map((setting): AttachedTool => {
    const earlier = before.find(({ tool }) => tool === setting.tool);
    if (earlier === undefined) {
      return { id: newId('agentTool'), ...setting, created_at: now, updated_at: now };
    }
    return { ...earlier, ...setting, updated_at: now };
  });
  return attached.sort((a, b) => a.sort_order - b.sort_order);
}

/** The agents of one account, newest first. */
export const AGENTS = keysetList<
  [
    accountId: string,
    triggerType: string | null,
    status: string | null,
    categoryCode: string | null,
    externalId: string | null,
  ],
  AgentRow
>({
  name: 'read-agents',
  columns: '*',
  from: 'agent_definitions',
  where: `account_id = $1
      AND ($2::text IS NULL OR trigger_type = $2)
      AND ($3::text IS NULL OR status = $3)
      AND ($4::text IS NULL OR category_code = $4)
      AND ($5::text IS NULL OR actor_id = ${externalActor('agent', '$1', '$5')})`,
  key: [
    ['created_at', 'timestamptz'],
    ['id', 'text'],
  ],
  folded: { table: FOLDED.agents, alias: 'agent_definitions' },
});
