/**
 * Returns an instant as every time on the wire is written: RFC 3339 in UTC with six decimals, as
 * Postgres has them.
 */
export function wireTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
