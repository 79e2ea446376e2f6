import pg from 'pg';

/** Whether Postgres refused a row for this unique key. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint;
}
