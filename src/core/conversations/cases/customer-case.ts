import { ApiError, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import type { CreateConversationBody } from '@parley/protocol/resources/conversation.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { lockWritingCustomer } from '../../resources/actor.ts';
import { type RosterEntry, withOwner } from '../participants/roster.ts';
import { type CreatedConversation, createConversation } from '../rows/conversation-store.ts';
import { readTeam } from './team.ts';

/** A customer with this many open cases cannot open another. */
const MAX_OPEN_CASES = 5;

/**
 * Checks the body of a customer, which opens a case with itself alone (docs/contract.md#customers).
 * Throws `insufficient_permissions` for a token that is for one case, or `validation_failed`.
 */
export function checkOfCustomer({ actor, credential }: Principal, body: CreateConversationBody): void {
  if (credential.provider === undefined && credential.widgetId === undefined) {
    throw new ApiError(
      'insufficient_permissions',
      'Only customers that come by a token of an identity provider, or by a widget, can open a case.',
    );
  }
  if (body.type !== 'group') throw invalid('type', 'A customer opens a group.');
  if (body.audience !== 'customer') throw invalid('audience', 'A customer opens a case: send customer.');
  const more = Object.keys(body).find((field) => !FIELDS.has(field));
  if (more !== undefined) throw invalid(more, 'A customer cannot set this. Leave it out.');
  const index = (body.participants ?? []).findIndex(
    ({ type, actor_id }) => type !== 'customer' || actor_id !== actor.id,
  );
  if (index >= 0 || (body.participants ?? []).length > 1) {
    throw invalid('participants', 'A customer opens a case with itself alone. Leave this out.');
  }
}

/**
 * Creates the case of a customer, with the team that answers there. Throws `limit_exceeded` with
 * the quota, `resource_not_found` (param widget_id), `insufficient_permissions` if the team has
 * blocked the customer, or `invalid_credentials` if the customer has been deactivated or claimed
 * meanwhile.
 */
export async function createCase(
  tx: Tx,
  { accountId, actor, credential }: Principal,
  { title, widget_id }: { readonly title?: string | undefined; readonly widget_id?: string | undefined },
): Promise<CreatedConversation> {
  const widgetId = widget_id ?? credential.widgetId ?? null;
  const [widget] = widgetId === null ? [] : await tx.query(FIND_WIDGET, accountId, widgetId);
  if (widget_id !== undefined && widget === undefined) throw notFound('widget', 'widget_id');
  // Two requests cannot both take the last place.
  await lockWritingCustomer(tx, actor.id);
  const [{ used }] = (await tx.query(COUNT_OPEN, actor.id)) as [{ used: number }];
  if (used >= MAX_OPEN_CASES) {
    const quota = { limit: MAX_OPEN_CASES, used, reset_at: null };
    const message = `A customer can have ${MAX_OPEN_CASES} open cases. Write in one of them.`;
    throw new ApiError('limit_exceeded', message, { quota });
  }
  const team = await readTeam(tx, accountId, widget?.group_id ?? null);
  const customer: RosterEntry = { type: 'customer', actorId: actor.id };
  return createConversation(tx, {
    accountId,
    type: 'group',
    audience: 'customer',
    title: title ?? null,
    widgetId,
    teamGroupId: team.groupId,
    participants: withOwner([customer, ...team.entries]),
  });
}

const FIELDS: ReadonlySet<string> = new Set(['type', 'audience', 'title', 'participants', 'widget_id']);

const FIND_WIDGET = statement<[accountId: string, id: string], { group_id: string | null }>(
  'find-widget-of-case',
)`
    SELECT group_id FROM widgets WHERE account_id = $1 AND id = $2`;

const COUNT_OPEN = statement<[actorId: string], { used: number }>('count-open-cases-of-customer')`
    SELECT count(*) AS used FROM participants p JOIN conversations c ON c.id = p.conversation_id
    WHERE p.actor_id = $1 AND p.membership IN ('active', 'hidden') AND c.audience = 'customer'
      AND c.status = 'active' AND c.deleted_at IS NULL AND c.workflow_status <> 'resolved'`;
