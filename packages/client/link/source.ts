import { ParleyError } from '../errors/parley-error.ts';
import type { Timing } from '../timing/timing.ts';

/** A function of the application that returns the URL or the token. */
export type Source = () => string | Promise<string>;

/** Returns the source's result if `check` does not throw. Rejects with ParleyError of this code. */
export function askSource(
  code: 'token_source' | 'url_source',
  source: Source,
  check: (answer: unknown) => string,
  timing: Pick<Timing, 'after'>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      const message = cause instanceof Error ? cause.message : String(cause);
      reject(new ParleyError(code, message, { isTransient: true, cause }));
    };
    const cancel = timing.after(PATIENCE_MS, () => {
      fail(new Error('It did not answer within 10 s.'));
    });
    Promise.resolve().then(source).then(check).then(resolve, fail).finally(cancel);
  });
}

const PATIENCE_MS = 10_000;
