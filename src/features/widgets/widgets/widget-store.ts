import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { ProvidedPerson } from '@parley/protocol/resources/identity-provider.ts';
import { type Insertable, type Selectable, sql, type UpdateObject } from 'kysely';
import { lockAccount } from '../../../core/accounts/account/accounts.ts';
import { defineAccountList } from '../../../core/accounts/collections/account-list.ts';
import { CUSTOMER_SERVICE } from '../../../core/accounts/groups/groups.ts';
import { enqueueRightsChanged } from '../../../core/accounts/rights/rights-changed.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

export type WidgetRow = Selectable<Schema['widgets']>;

/** A widget that pages can show, with the persona of the team. */
export type OfferedWidget = WidgetRow & {
  readonly persona_name: string | null;
  readonly persona_avatar_url: string | null;
  /** Up to three active users of its group; null without `show_team`. */
  readonly team: readonly { readonly name: string; readonly avatar_url: string | null }[] | null;
};

/** Most widgets of an account. */
const MAX_WIDGETS = 50;

/** Throws `limit_exceeded` with the quota. */
export async function insertWidget(
  tx: Tx,
  widget: Omit<Insertable<Schema['widgets']>, 'id'>,
): Promise<WidgetRow> {
  // Locked, so that two requests cannot both take the last place.
  await lockAccount(tx, widget.account_id);
  const [{ used }] = (await tx.query(COUNT, widget.account_id)) as [{ used: number }];
  if (used >= MAX_WIDGETS) {
    const message = `An account can have ${MAX_WIDGETS} widgets. Delete one that is not needed.`;
    throw new ApiError('limit_exceeded', message, { quota: { limit: MAX_WIDGETS, used, reset_at: null } });
  }
  return tx.kysely
    .insertInto('widgets')
    .values({ id: newId('widget'), ...widget })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Throws `resource_not_found` (param id). */
export function findWidget(db: Db, accountId: string, id: string): Promise<WidgetRow> {
  return widgetOf(db, accountId, id).executeTakeFirstOrThrow(() => notFound('widget', 'id'));
}

/** Locks the widget until the transaction ends. Throws `resource_not_found` (param id). */
export function lockWidget(tx: Tx, accountId: string, id: string): Promise<WidgetRow> {
  return widgetOf(tx, accountId, id)
    .forUpdate()
    .executeTakeFirstOrThrow(() => notFound('widget', 'id'));
}

/** Returns an enabled widget of any account. Throws `resource_not_found` (param id). */
export async function findOffered(db: Db, id: string): Promise<OfferedWidget> {
  const [row] = await db.query(READ_OFFERED, id, CUSTOMER_SERVICE);
  if (row === undefined) throw notFound('widget', 'id');
  return row;
}

/** Changes a locked widget. Nodes cache the name under which the team writes in its cases. */
export async function updateWidget(
  tx: Tx,
  { id }: WidgetRow,
  changes: UpdateObject<Schema, 'widgets'>,
): Promise<WidgetRow> {
  const row = await tx.kysely
    .updateTable('widgets')
    .set({ ...changes, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await enqueueRightsChanged(tx, [id]);
  return row;
}

/** Removes a locked widget and ends the sessions of its visitors. Their conversations stay. */
export async function deleteWidget(tx: Tx, { id }: WidgetRow): Promise<void> {
  const ended = await tx.query(END_SESSIONS, id);
  await tx.kysely.deleteFrom('widgets').where('id', '=', id).execute();
  await enqueueRightsChanged(tx, [id, ...ended.map(({ family_id }) => family_id)]);
}

/** Takes a deleted inbox from the widgets that mail answers from it. */
export async function forgetInbox(tx: Tx, inboxId: string): Promise<void> {
  const widgets = await tx.query(FORGET_INBOX, inboxId);
  await enqueueRightsChanged(
    tx,
    widgets.map(({ id }) => id),
  );
}

/** Returns the kind of person of a provider's tokens; undefined without such a provider. */
export async function personOfProvider(
  tx: Tx,
  accountId: string,
  id: string,
): Promise<ProvidedPerson | undefined> {
  return (await tx.query(FIND_PROVIDER, accountId, id))[0]?.person;
}

/** The widgets of an account, newest first; searchable by name. */
export const WIDGETS = defineAccountList<WidgetRow>({
  name: 'widgets',
  columns: 't.*',
  from: 'widgets t',
  search: ['t.name'],
});

function widgetOf(db: Db, accountId: string, id: string) {
  return db.kysely.selectFrom('widgets').selectAll().where('account_id', '=', accountId).where('id', '=', id);
}

const COUNT = statement<[accountId: string], { used: number }>('count-widgets')`
    SELECT count(*) AS used FROM widgets WHERE account_id = $1`;

const READ_OFFERED = statement<[id: string, personaName: string], OfferedWidget>('read-offered-widget')`
    SELECT w.*, a.name AS persona_name, a.avatar_url AS persona_avatar_url,
      CASE WHEN w.show_team THEN (SELECT json_agg(json_build_object('name', f.name, 'avatar_url', f.avatar_url)
        ORDER BY f.avatar_url IS NULL, f.position)
        FROM (SELECT u.name, u.avatar_url, m.position
          FROM group_members m JOIN actors u ON u.id = m.actor_id
          WHERE m.group_id = g.id AND u.type = 'user' AND NOT u.customer AND u.deactivated_at IS NULL
            AND u.name IS NOT NULL
          ORDER BY u.avatar_url IS NULL, m.position LIMIT 3) f) END AS team
    FROM widgets w JOIN accounts c ON c.id = w.account_id AND c.deleted_at IS NULL
      LEFT JOIN messaging_groups g ON g.id = coalesce(w.group_id,
        (SELECT s.id FROM messaging_groups s WHERE s.account_id = w.account_id AND s.name = $2))
      LEFT JOIN actors a ON a.id = g.actor_id
    WHERE w.id = $1 AND w.enabled`;

const END_SESSIONS = statement<[widgetId: string], { family_id: string }>('end-sessions-of-widget')`
    UPDATE refresh_tokens SET revoked_at = clock_timestamp()
    WHERE widget_id = $1 AND revoked_at IS NULL RETURNING family_id`;

const FORGET_INBOX = statement<[inboxId: string], { id: string }>('forget-inbox-of-widgets')`
    UPDATE widgets w SET inbox_id = NULL, updated_at = later_than(w.updated_at)
    FROM inboxes i WHERE i.id = $1 AND w.account_id = i.account_id AND w.inbox_id = i.id RETURNING w.id`;

const FIND_PROVIDER = statement<[accountId: string, id: string], { person: ProvidedPerson }>(
  'find-provider-of-widget',
)`
    SELECT person FROM identity_providers WHERE account_id = $1 AND id = $2`;
