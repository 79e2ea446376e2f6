import pg from 'pg';

/** Returns whether Postgres rejected a row because of this unique key. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint;
}
