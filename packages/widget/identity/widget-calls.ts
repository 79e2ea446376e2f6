import { CURRENT_VERSION } from '@parley/protocol/versions.ts';

/** A refusal of the server. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string | undefined;

  constructor(status: number, message: string, code?: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export interface WidgetCall {
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Calls an endpoint that needs no client of the SDK, because it makes or changes a client's
 * credential. Rejects with Refused.
 */
export async function call<Answer>(
  method: 'GET' | 'POST',
  path: string,
  { body, headers }: WidgetCall = {},
): Promise<Answer> {
  const answer = await fetch(path, {
    method,
    credentials: 'omit',
    headers: {
      'Service-Version': CURRENT_VERSION,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const read = await answer.json().catch(() => undefined);
  if (answer.ok) return read as Answer;
  throw new Refused(answer.status, read?.error?.message ?? answer.statusText, read?.error?.code);
}
