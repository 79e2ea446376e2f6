/** What Redis and ioredis refuse, in words that may be logged. */

/** An address as it may be shown. */
export function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return 'an address that is no URL';
  const shown = new URL(url);
  shown.password = '';
  // ioredis takes options from the query, a password among them.
  shown.search = '';
  return shown.href;
}

/** An error answer carries its command's arguments, the password or message bodies among them: not for logs. */
export function withoutArguments(error: unknown): Error {
  if (error instanceof Error && !('command' in error)) return error;
  return new Error(describe(error));
}

/** Of what ioredis and the link say when an answer does not come in time; refusals have other words. */
export function isSlowness({ message }: Error): boolean {
  return /timed out|ETIMEDOUT|no proof|lost meanwhile/.test(message);
}

export function describe(reason: unknown): string {
  if (reason instanceof AggregateError) return reason.errors.map(describe).join(', ');
  return reason instanceof Error ? reason.message : String(reason);
}
