import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import {
  Customer,
  type PutCustomerBody,
  type UpdateCustomerBody,
} from '@parley/protocol/resources/customer.ts';
import { requirePermission } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { auditAccount } from '../../audit/audit.ts';
import { type ActorRow, isBlockedByTeam } from '../../resources/actor.ts';
import { mergedMetadata, NO_METADATA } from '../../resources/metadata.ts';
import { presentAs } from '../../resources/present-as.ts';
import { FOLDED } from '../../tables/folded-tables.ts';
import { addressStays, createCustomer, writeActor } from '../actors/actors.ts';
import { definePeopleList } from '../collections/account-list.ts';
import { createOrChange, type Put, requiredToCreate } from '../collections/external-ids.ts';
import { enqueueActorChanged, enqueueRightsChanged } from '../rights/rights-changed.ts';

/**
 * The outside persons of cases (docs/contract.md#the-customers-of-an-account): actors without a
 * role.
 */

export interface CustomerRow
  extends Pick<ActorRow, 'id' | 'name' | 'avatar_url' | 'external_id' | 'metadata'> {
  readonly email: string | null;
  readonly deactivated: boolean;
  readonly erased: boolean;
  readonly blocked: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

/** Throws `resource_not_found` (param id), also for other actors. */
export async function readCustomer(db: Db, accountId: string, id: string): Promise<CustomerRow> {
  const [row] = await db.query(READ, id, accountId);
  if (row === undefined) throw notFound('customer', 'id');
  return row;
}

export function presentCustomer(row: CustomerRow): Customer {
  const status = row.deactivated ? 'deactivated' : 'active';
  return presentAs(Customer, { ...row, status, metadata: row.metadata ?? NO_METADATA });
}

/**
 * Performs Update Customer: audits it, and shows a new name on open screens. No-op if nothing
 * differs. Throws ApiError `resource_not_found` (param id), `resource_exists` (param external_id),
 * or `resource_conflict` for an erased customer and for another address.
 */
export async function changeCustomer(
  tx: Tx,
  principal: Principal,
  id: string,
  body: UpdateCustomerBody,
): Promise<CustomerRow> {
  const { accountId } = principal;
  await tx.query(LOCK, id, accountId);
  const row = await readCustomer(tx, accountId, id);
  if (row.erased) {
    throw new ApiError('resource_conflict', 'This customer was erased for good. Create a new one instead.');
  }
  const { email: given = row.email } = body;
  if (row.email !== null && given?.toLowerCase() !== row.email.toLowerCase()) throw addressStays('customer');
  const changes = { ...row, ...body, email: row.email ?? given };
  const changed = (['name', 'email', 'external_id'] as const).filter((name) => changes[name] !== row[name]);
  const metadata = mergedMetadata(row.metadata, body.metadata);
  const fields = [...changed, ...(metadata === undefined ? [] : ['metadata'])];
  if (fields.length === 0) return row;
  const { name, email, external_id } = changes;
  await writeActor(tx, id, 'customer', {
    name,
    handle: email,
    external_id,
    ...(metadata !== undefined && { metadata: metadata.column }),
  });
  if (changed.includes('name') || changed.includes('email')) await enqueueActorChanged(tx, id);
  else if (changed.length > 0) await enqueueRightsChanged(tx, [id]);
  await auditAccount(tx, principal, 'customer.updated', {
    customer_id: id,
    fields,
    ...(metadata !== undefined && { metadata_keys: metadata.keys }),
  });
  return readCustomer(tx, accountId, id);
}

/** Creates or changes the customer with this external id. Throws as `changeCustomer` does. */
export async function putCustomer(
  tx: Tx,
  principal: Principal,
  externalId: string,
  body: PutCustomerBody,
): Promise<Put<CustomerRow>> {
  const { accountId } = principal;
  return createOrChange(tx, {
    accountId,
    kind: 'customer',
    externalId,
    async create() {
      requirePermission(principal, 'users:create');
      const name = requiredToCreate('name', body.name, 'customer');
      const { id } = await createCustomer(tx, {
        accountId,
        name,
        email: body.email,
        externalId,
        metadata: body.metadata,
      });
      return readCustomer(tx, accountId, id);
    },
    change(id) {
      requirePermission(principal, 'users:update');
      return changeCustomer(tx, principal, id, body);
    },
  });
}

const COLUMNS = `t.id, t.name, t.handle AS email, t.deactivated_at IS NOT NULL AS deactivated,
      t.erased_at IS NOT NULL AS erased, ${isBlockedByTeam('t.id')} AS blocked, t.avatar_url, t.external_id, t.metadata,
      t.created_at, t.updated_at`;
const IS_CUSTOMER = "t.type = 'user' AND t.customer";

/** The customers of an account, newest first; searchable by name and e-mail address. */
export const CUSTOMERS = definePeopleList<CustomerRow>('customer', {
  name: 'customers',
  columns: COLUMNS,
  from: 'actors t',
  where: IS_CUSTOMER,
  folded: { table: FOLDED.actors, alias: 't' },
});

const READ = statement<[id: string, accountId: string], CustomerRow>('read-customer')`
    SELECT ${COLUMNS} FROM actors t WHERE t.id = $1 AND t.account_id = $2 AND ${IS_CUSTOMER}`;

const LOCK = statement<[id: string, accountId: string]>('lock-customer')`
    SELECT FROM actors WHERE id = $1 AND account_id = $2 FOR NO KEY UPDATE`;
