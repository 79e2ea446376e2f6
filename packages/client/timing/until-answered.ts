import { ParleyError } from '../errors/parley-error.ts';

/**
 * Repeats `work` while its failure may pass, and settles as it does. `later` calls its argument in
 * some seconds.
 */
export async function untilAnswered<T>(
  work: () => Promise<T>,
  later: (again: () => void) => void,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ParleyError && error.isTransient)) throw error;
      await new Promise<void>((resolve) => later(resolve));
    }
  }
}
