/** Errors of Redis and ioredis in a form that may be logged. */

/** Returns an address without its secrets. */
export function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return 'an address that is no URL';
  const shown = new URL(url);
  shown.password = '';
  // ioredis takes options from the query, among them a password.
  shown.search = '';
  return shown.href;
}

/**
 * Returns an error without the arguments of its command, which may be the password or message
 * bodies.
 */
export function withoutArguments(error: unknown): Error {
  if (error instanceof Error && !('command' in error)) return error;
  return new Error(describe(error));
}

/**
 * Whether ioredis or the link reported that an answer did not come in time; refusals have other
 * texts.
 */
export function isSlowness({ message }: Error): boolean {
  return /timed out|ETIMEDOUT|no proof|lost meanwhile/.test(message);
}

export function describe(reason: unknown): string {
  if (reason instanceof AggregateError) return reason.errors.map(describe).join(', ');
  return reason instanceof Error ? reason.message : String(reason);
}
