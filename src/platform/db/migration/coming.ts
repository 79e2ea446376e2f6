import type { Db } from '../connection/handle.ts';
import { statement } from '../connection/statement.ts';

/** Returns whether the time is within the coming year, by Postgres' clock. */
export async function isComing(db: Db, time: string): Promise<boolean> {
  const [found] = await db.query(READ_IS_COMING, time);
  return found?.is_coming === true;
}

const READ_IS_COMING = statement<[time: string], { is_coming: boolean }>('read-is-coming')`
    SELECT $1::timestamptz > clock_timestamp() AND $1::timestamptz <= clock_timestamp() + interval '1 year'
      AS is_coming`;
