/**
 * Returns the values in an order that depends only on them, to compare values without a promised
 * order: the answers of a race, the effects of two events, rows without ORDER BY. On a quiet
 * machine they come in the order in which they were begun, so a test that expects this order fails
 * on a busy machine.
 */
export function inAnyOrder<T>(values: Iterable<T>): T[] {
  const keyed = Array.from(values, (value) => ({ key: JSON.stringify(value) ?? '', value }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key))).map(({ value }) => value);
}
