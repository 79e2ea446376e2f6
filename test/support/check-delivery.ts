/**
 * Compares what one reader of a conversation received with what Postgres has. Each problem is a
 * line; an empty result passes.
 */
export function deliveryProblems(got: readonly number[], stored: readonly number[]): string[] {
  const problems: string[] = [];
  for (const [index, sequence] of got.entries()) {
    const before = got[index - 1];
    if (before !== undefined && sequence <= before) problems.push(`${sequence} came behind ${before}`);
  }
  const received = new Set(got);
  const missing = stored.filter((sequence) => !received.has(sequence));
  if (missing.length > 0) problems.push(`missing: ${missing.slice(0, 10).join(', ')} (${missing.length})`);
  const known = new Set(stored);
  const invented = got.filter((sequence) => !known.has(sequence));
  if (invented.length > 0) problems.push(`not in Postgres: ${invented.slice(0, 10).join(', ')}`);
  return problems;
}

/** A message as a reader received it, or as Postgres has it. */
export interface Received {
  readonly sequence: number;
  readonly id: string;
}

/**
 * Checks whole messages the same way: under each number the message that Postgres has there, and no
 * message under two numbers.
 */
export function historyProblems(got: readonly Received[], stored: readonly Received[]): string[] {
  const problems = deliveryProblems(
    got.map(({ sequence }) => sequence),
    stored.map(({ sequence }) => sequence),
  );
  const idOf = new Map(stored.map(({ sequence, id }) => [sequence, id]));
  const sequenceOf = new Map<string, number>();
  for (const { sequence, id } of got) {
    const expected = idOf.get(sequence);
    if (expected !== undefined && expected !== id) problems.push(`${sequence} is ${id}, not ${expected}`);
    const before = sequenceOf.get(id);
    if (before !== undefined) problems.push(`${id} came as ${before} and as ${sequence}`);
    sequenceOf.set(id, sequence);
  }
  return problems;
}
