import type { Timing } from './timing.ts';

/** A function of the application's that gives the client its URL or its token. */
export type Source = () => string | Promise<string>;

/** `cause` is what the function threw, or why its answer was not taken. */
export class SourceFailed extends Error {
  readonly reason: 'token_source' | 'url_source';

  constructor(reason: SourceFailed['reason'], cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'SourceFailed';
    this.reason = reason;
  }
}

/** What the source returns, past `check`, which throws for what is of no use. Rejects with SourceFailed. */
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
