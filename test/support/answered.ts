import type { TestNode } from './node.ts';
import { until } from './until.ts';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: object | undefined;
  readonly token?: string | undefined;
}

/**
 * Repeats a request until it is accepted, each time through the node that `nodeOf` returns for the
 * number of failed attempts, and returns the body of the answer. Rejects if the request is refused,
 * except for the repetition of a deletion: the attempt without an answer may have succeeded.
 */
export async function answered(
  nodeOf: (failures: number) => TestNode,
  { method, path, body, token }: Request,
): Promise<Record<string, unknown>> {
  let failures = 0;
  const answer = await until(
    async () => {
      const answer = await nodeOf(failures)
        .call(method, path, body, token)
        .catch(() => undefined);
      const isTransient = answer === undefined || answer.status >= 500 || answer.status === 429;
      if (isTransient) failures += 1;
      return isTransient ? undefined : answer;
    },
    { what: `an answer to ${method} ${path}` },
  );
  if (answer.status >= 400 && !(method === 'DELETE' && failures > 0)) {
    throw new Error(`${method} ${path} is answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }
  return answer.body;
}
