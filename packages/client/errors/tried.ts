/** Returns the result of `run`, or undefined if it throws. */
export function tried<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
