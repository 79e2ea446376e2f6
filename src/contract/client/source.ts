import type { Timing } from './timing.ts';

/** A function of the application that returns the URL or the token. */
export type Source = () => string | Promise<string>;

/** `cause` is what the function threw, or why its result was refused. */
export class SourceFailed extends Error {
  readonly reason: 'token_source' | 'url_source';

  constructor(reason: SourceFailed['reason'], cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'SourceFailed';
    this.reason = reason;
  }
}

/**
 * Returns the source's result after `check`, which throws for an unusable one. Rejects with
 * SourceFailed.
 */
export function askSource(
  reason: SourceFailed['reason'],
  source: Source,
  check: (answer: unknown) => string,
  timing: Pick<Timing, 'after'>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => reject(new SourceFailed(reason, cause));
    const cancel = timing.after(PATIENCE_MS, () => {
      fail(new Error(`It did not answer within ${PATIENCE_MS / 1_000} s.`));
    });
    Promise.resolve().then(source).then(check).then(resolve, fail).finally(cancel);
  });
}

const PATIENCE_MS = 10_000;
