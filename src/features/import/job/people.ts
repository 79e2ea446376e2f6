import type { PersonRecord } from '@parley/archives/record.ts';
import { newId } from '@parley/protocol/ids.ts';
import { findCustomer } from '../../../core/accounts/actors/actors.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ImportRow } from '../imports/import-store.ts';
import type { Refs } from './refs.ts';
import type { Tally } from './tally.ts';

export interface Numbered<Record> {
  readonly record: Record;
  /** The person's number in the archive. */
  readonly number: number;
}

/**
 * Creates the people of an archive, each once in the account. A person becomes the user or customer
 * with the same address if the operator states that addresses are verified. Otherwise it becomes a
 * placeholder, as which nobody can sign in, or another customer.
 */
export async function importPeople(
  tx: Tx,
  { row, refs, tally }: { readonly row: ImportRow; readonly refs: Refs; readonly tally: Tally },
  people: readonly Numbered<PersonRecord>[],
): Promise<void> {
  const known = await refs.find(
    tx,
    'person',
    people.map(({ record }) => record.ref),
  );
  const addresses = new Map(people.map(({ record }) => [record.ref, addressOf(row, record)]));
  const asked = people.filter(({ record }) => record.kind !== 'customer');
  const users = await usersOf(
    tx,
    row,
    asked.map(({ record }) => addresses.get(record.ref) ?? null),
  );
  const made: Placeholder[] = [];
  const found: { readonly sourceId: string; readonly id: string; readonly isMade: boolean }[] = [];
  for (const { record, number } of people) {
    const isCounted = record.kind !== 'placeholder';
    if (known.has(record.ref)) {
      if (isCounted) tally.add('people', 'existed');
      continue;
    }
    const address = addresses.get(record.ref) ?? null;
    const isCustomer = record.kind === 'customer';
    if (isCustomer) {
      const email = address;
      const customer =
        email === null ? undefined : await findCustomer(tx, { accountId: row.account_id, email });
      const id = customer ?? newId('actor');
      if (customer === undefined)
        made.push({ id, handle: address, name: record.name, ref: record.ref, isCustomer });
      found.push({ sourceId: record.ref, id, isMade: customer === undefined });
      tally.add('people', customer === undefined ? 'imported' : 'existed');
      continue;
    }
    const user = address === null ? undefined : users.get(address);
    if (user?.isTaken) {
      tally.note(number, {
        reason: 'address_of_another_person',
        detail: `Another person in the archive has the address of ${record.name}, who became a placeholder.`,
        place: record.ref,
      });
    }
    if (user !== undefined && !user.isTaken) {
      user.isTaken = true;
      found.push({ sourceId: record.ref, id: user.id, isMade: false });
      if (isCounted) tally.add('people', 'existed');
      continue;
    }
    const id = newId('actor');
    const handle = user === undefined ? address : null;
    if (handle !== null) users.set(handle, { id, isTaken: true });
    made.push({ id, handle, name: record.name, ref: record.ref, isCustomer });
    found.push({ sourceId: record.ref, id, isMade: true });
    if (isCounted) tally.add('people', 'imported');
  }
  await insertPlaceholders(tx, row, made);
  await refs.put(tx, 'person', found);
}

/** Returns the verified address of the person, in lower case, or null. */
function addressOf({ options }: ImportRow, { email, email_verified, handle, kind }: PersonRecord) {
  if (!options.emails_verified || kind === 'bot' || kind === 'placeholder') return null;
  if (email !== null) return email_verified ? email.toLowerCase() : null;
  if (options.email_domain === undefined || handle === null || !/^[\w.+-]+$/.test(handle)) return null;
  return `${handle}@${options.email_domain}`.toLowerCase();
}

interface User {
  readonly id: string;
  /** Whether another person of the archive became this user. */
  isTaken: boolean;
}

async function usersOf(
  tx: Tx,
  { id: importId, account_id }: ImportRow,
  addresses: readonly (string | null)[],
): Promise<Map<string, User>> {
  const asked = addresses.filter((address) => address !== null);
  if (asked.length === 0) return new Map();
  const rows = await tx.query(READ_USERS, account_id, asked, importId);
  return new Map(rows.map(({ email, id, is_taken }) => [email, { id, isTaken: is_taken }]));
}

interface Placeholder {
  readonly id: string;
  readonly name: string;
  /** The verified address, if there is one. */
  readonly handle: string | null;
  readonly ref: string;
  readonly isCustomer: boolean;
}

async function insertPlaceholders(
  tx: Tx,
  { account_id, source }: ImportRow,
  made: readonly Placeholder[],
): Promise<void> {
  if (made.length === 0) return;
  await tx.query(
    INSERT,
    account_id,
    made.map(({ id }) => id),
    made.map(({ id, handle }) => handle ?? `${id.toLowerCase()}@placeholder.invalid`),
    made.map(({ name }) => name),
    made.map(({ handle }) => handle),
    // Ids of our own are kept as ids of the account's application.
    made.map(({ ref }) => (source === 'parley' ? ref : null)),
    made.map(({ isCustomer }) => isCustomer),
  );
}

const READ_USERS = statement<
  [accountId: string, emails: readonly string[], importId: string],
  { id: string; email: string; is_taken: boolean }
>('read-users-by-address')`
    SELECT id, email,
      EXISTS (SELECT FROM import_refs r WHERE r.our_id = u.id AND r.import_id = $3) AS is_taken
    FROM users u WHERE account_id = $1 AND email = ANY($2)`;

const INSERT = statement<
  [
    accountId: string,
    ids: readonly string[],
    emails: readonly string[],
    names: readonly string[],
    handles: readonly (string | null)[],
    externalIds: readonly (string | null)[],
    areCustomers: readonly boolean[],
  ]
>('insert-placeholders')`
    WITH made AS (
      SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[])
        AS m(id, email, name, handle, external_id, customer)
    ), persons AS (
      INSERT INTO actors (id, account_id, type, customer, name, handle, deactivated_at, external_id)
      SELECT id, $1, 'user', customer, name, handle, CASE WHEN NOT customer THEN clock_timestamp() END,
        CASE WHEN NOT EXISTS (
          SELECT FROM actors a WHERE a.account_id = $1 AND a.type = 'user' AND a.customer = made.customer
            AND a.external_id = made.external_id
        ) THEN external_id END
      FROM made
    )
    INSERT INTO users (id, account_id, email, placeholder)
    SELECT id, $1, email, true FROM made WHERE NOT customer`;
