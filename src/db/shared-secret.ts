import { randomBytes } from 'node:crypto';
import type { Database } from './database.ts';

/**
 * A secret that all nodes of a database share, made when it is asked for first: 43 characters, 256 bits. Of
 * nodes that start at once the first one's stays; all of them read that one.
 */
export async function sharedSecret({ kysely }: Database, name: string): Promise<string> {
  await kysely
    .insertInto('settings')
    .values({ name, value: randomBytes(32).toString('base64url') })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  const { value } = await kysely
    .selectFrom('settings')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  return value;
}
