/** What one reader of a conversation got, against what Postgres has. Each problem is a line; none is a pass. */
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
