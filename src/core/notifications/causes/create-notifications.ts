import { deactivatedActor, invalid, missingField, notFound } from '@parley/protocol/errors/errors.ts';
import { isOwnType, OWN_TYPE_REFUSED } from '@parley/protocol/event-areas.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { CreateNotificationsBody } from '@parley/protocol/resources/notification.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { readNamedActors } from '../../resources/actor.ts';
import { readEntities, refKey } from '../../resources/entity.ts';
import { acquainted } from '../../resources/known-users.ts';
import { type NotificationRow, readNotifications } from '../../resources/notification.ts';
import { type NewNotification, notifyUsers } from '../feed/notify-users.ts';
import { senderType } from './notify.ts';

/**
 * Throws ApiError `validation_failed` (a category of Parley) or `missing_field` (half a resource).
 */
export function checkNotifications(body: CreateNotificationsBody): void {
  const { category, resource_type: type, resource_id: id } = body;
  if (isOwnType(category) && category !== BROADCAST) throw invalid('category', OWN_TYPE_REFUSED);
  if (id === undefined && type !== undefined) throw missingField('resource_id');
  if (type === undefined && id !== undefined) throw missingField('resource_type');
}

/**
 * Create Notifications (docs/contract.md#producing-notifications): notifies all recipients or none.
 * Returns the notifications in the order of `recipient_ids`. Throws ApiError `validation_failed` (a
 * deactivated recipient) or `resource_not_found`.
 */
export async function createNotifications(
  tx: Tx,
  principal: Principal,
  body: CreateNotificationsBody,
): Promise<NotificationRow[]> {
  const { accountId, actor } = principal;
  const { category, title, priority } = body;
  const recipients = await readRecipients(tx, principal, body.recipient_ids);
  const [clock] = await tx.query(READ_CLOCK);
  const made = await notifyUsers(tx, recipients, {
    account_id: accountId,
    category,
    title,
    body: body.body || null,
    ...(priority !== undefined && { priority }),
    sender_id: actor.id,
    sender_type: senderType(actor),
    resource: await readResource(tx, principal, body),
    // Every request is a cause of its own: a repetition is detected by its Idempotency-Key.
    cause: { key: newId('notification'), at: clock!.at },
  });
  const byRecipient = new Map((await readNotifications(tx, made)).map((row) => [row.recipient_id, row]));
  return recipients.flatMap((id) => byRecipient.get(id) ?? []);
}

/** The only category of Parley that producers may use. */
const BROADCAST = 'system.broadcast';

async function readRecipients(tx: Tx, principal: Principal, ids: readonly string[]): Promise<string[]> {
  const actors = await readNamedActors(tx, principal, ids);
  return ids.map((id, index) => {
    const param = `recipient_ids[${index}]`;
    const actor = actors.get(id);
    if (actor?.type !== 'user' || actor.customer) throw notFound('user', param);
    if (actor.deactivated) throw deactivatedActor(param);
    return actor.id;
  });
}

async function readResource(
  tx: Tx,
  principal: Principal,
  { resource_type: type, resource_id: id }: CreateNotificationsBody,
): Promise<NewNotification['resource']> {
  if (id === undefined || type === undefined) return null;
  const ref = { type, id };
  const known = await readEntities(tx, principal.accountId, [ref], acquainted(principal));
  const resource = known.get(refKey(ref));
  if (resource === undefined) throw notFound('resource', 'resource_id');
  return resource;
}

const READ_CLOCK = statement<[], { readonly at: string }>('read-clock-of-notifications')`
    SELECT clock_timestamp() AS at`;
