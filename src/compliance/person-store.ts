import type { Db } from '../db/handle.ts';
import { statement } from '../db/statement.ts';

/** A person of the account, as an export shows it: a user, or a customer, which has no role and no row of users. */
export interface Person {
  readonly id: string;
  readonly account_id: string;
  readonly customer: boolean;
  readonly name: string | null;
  readonly handle: string | null;
  readonly avatar_url: string | null;
  readonly email: string | null;
  readonly role: string | null;
  readonly role_type: string | null;
  readonly deactivated_at: string | null;
  readonly erased_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** Returns undefined for an actor that is no person, as for one that the account does not have. */
export async function findPerson(db: Db, accountId: string, id: string): Promise<Person | undefined> {
  const [person] = await db.query(FIND, accountId, id);
  return person;
}

const FIND = statement<[accountId: string, id: string], Person>({
  name: 'find-person',
  text: `
    SELECT a.id, a.account_id, a.customer, a.name, a.handle, a.avatar_url, u.email, r.name AS role, r.type AS role_type,
      a.deactivated_at, a.erased_at, a.created_at, a.updated_at
    FROM actors a LEFT JOIN users u ON u.id = a.id LEFT JOIN roles r ON r.id = a.role_id
    WHERE a.account_id = $1 AND a.id = $2 AND a.type = 'user'`,
});
