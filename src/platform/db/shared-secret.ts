import { randomBytes } from 'node:crypto';
import type { Db } from './connection/handle.ts';

/**
 * Returns a secret that all nodes of a database share, by default 43 characters (256 bits). It is
 * created at first use; if several nodes create it at once, all of them read the first one.
 */
export async function sharedSecret(
  { kysely }: Pick<Db, 'kysely'>,
  name: string,
  create: () => string = () => randomBytes(32).toString('base64url'),
): Promise<string> {
  await kysely
    .insertInto('settings')
    .values({ name, value: create() })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  const { value } = await kysely
    .selectFrom('settings')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  return value;
}
