import type { Static, TSchema } from 'typebox';
import type { Principal } from '../access/principal.ts';
import type { Database } from '../db/database.ts';
import type { Tx } from '../db/handle.ts';
import type { AdminPermission, Permission } from '../protocol/permissions.ts';
import type { Version } from '../protocol/versions.ts';

/**
 * One endpoint as data: what the pipeline checks, what OpenAPI prints, what agents' endpoint tools
 * are made of. `defineRoute` keeps the types of query and body for the handler.
 */
export interface Route<Query extends TSchema = TSchema, RequestBody extends TSchema = TSchema> {
  /** `send_message`: unique; OpenAPI's operationId, and with dashes the slug of the endpoint tool. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `:name` for parameters: `/v1/messaging/conversations/:id/messages`. */
  readonly path: string;
  /** One line for the documentation. */
  readonly summary: string;
  /** The version it exists since; older callers get `api_version_too_old`. */
  readonly since: Version;
  /** What the caller's role must grant; null: any valid credential. */
  readonly permission: Permission | AdminPermission | null;
  /**
   * A lesser permission that is enough for the caller's own state or work, and what that is ("your own messages").
   * The pipeline admits a caller that holds either. The handler requires `permission` once it knows that the
   * resource is somebody else's.
   */
  readonly own?: { readonly permission: Permission; readonly of: string };
  /**
   * No credential and no Service-Account are asked for, and none is looked at: the body itself proves who is
   * calling. `principal` is NOBODY. Its `permission` is null.
   */
  readonly open?: boolean;
  /** It answers also while the account's subscription is not active, so that a caller can find out why others refuse. */
  readonly unsubscribed?: boolean;
  /** Customers may call it (docs/contract.md#customers); everybody else's default is that they may not. */
  readonly customers?: boolean;
  /**
   * False: closed to agents, and no endpoint tool (docs/contract.md#limits-of-agents): what decides about
   * people's approval, credentials and rights.
   */
  readonly agents?: boolean;
  /** Query parameters; array ones are named with `[]` in the schema. Without: every parameter is unknown. */
  readonly query?: Query;
  /** The JSON body; without one a body is ignored only if empty or `{}`. An empty body counts as `{}`. */
  readonly body?: RequestBody;
  /** Success status. */
  readonly status: 200 | 201;
  /** What is asked for may be there already: then it is answered with 200 in place of 201. */
  readonly mayExist?: boolean;
  /** What came with later versions than the route itself is declared by its fields (protocol/since.ts). */
  readonly response: TSchema;
  /** The answer shows a secret: where it is kept for an Idempotency-Key, it is kept encrypted. */
  readonly secret?: boolean;
  /** Answers the resource in its newest form as JSON-serializable value, or bytes that are JSON already. Throws ApiError. */
  readonly handle: (call: Call<Static<Query>, Static<RequestBody>>) => Promise<HandlerResult> | HandlerResult;
}

/** One request past every check of the pipeline. */
export interface Call<Query = unknown, RequestBody = unknown> {
  readonly principal: Principal;
  readonly version: Version;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: RequestBody;
  /** Path and query as sent, for page URLs. */
  readonly url: string;
  /**
   * Present with an Idempotency-Key: stores the answer in the transaction of the effect, so that either
   * both are there after a crash or neither. Return what it resolves with. Rejects with ApiError
   * `idempotency_in_progress` where another took the key over: let it roll the transaction back. A handler that does
   * not use it has its answer stored right after it.
   */
  readonly remember: Remember | undefined;
}

export type Remember = (tx: Tx, reply: HandlerResult) => Promise<Answer>;

/**
 * A value is answered with the route's status, in the form of the caller's version; a Buffer is JSON already, in the
 * form of `Call.version`; an Answer says its own status.
 */
export type HandlerResult = object | Answer;

/** An answer with a status of its own (200 for "it was there already"). */
export class Answer {
  readonly status: number;
  /** JSON-serializable, or a Buffer of JSON. */
  readonly value: object;

  constructor(status: number, value: object) {
    this.status = status;
    this.value = value;
  }
}

/**
 * Runs a handler's change in one transaction, the stored answer of an Idempotency-Key with it. `run` makes
 * the reply from what it reads through `tx`.
 */
export function inTransaction(
  database: Database,
  call: Pick<Call, 'remember'>,
  run: (tx: Tx) => Promise<HandlerResult>,
): Promise<HandlerResult> {
  return database.transaction(async (tx) => {
    const reply = await run(tx);
    return call.remember === undefined ? reply : call.remember(tx, reply);
  });
}

export function defineRoute<const Query extends TSchema, const RequestBody extends TSchema>(
  route: Route<Query, RequestBody>,
): Route {
  return route as unknown as Route;
}
