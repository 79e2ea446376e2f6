import type { Static, TSchema } from 'typebox';
import type { Principal } from '../access/principal.ts';
import type { Database } from '../db/database.ts';
import type { Tx } from '../db/handle.ts';
import type { AdminPermission, Permission } from '../protocol/permissions.ts';
import type { TraceContext } from '../protocol/traceparent.ts';
import type { Version } from '../protocol/versions.ts';

/**
 * One endpoint as data: the pipeline checks it, OpenAPI prints it, and agents' endpoint tools are made from it.
 * `defineRoute` keeps the types of query and body for the handler.
 */
export interface Route<Query extends TSchema = TSchema, RequestBody extends TSchema = TSchema> {
  /** Such as `send_message`; unique. It is the operationId of OpenAPI and, with dashes, the slug of the endpoint tool. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With `:name` for parameters: `/v1/messaging/conversations/:id/messages`. */
  readonly path: string;
  /** One line for the documentation. */
  readonly summary: string;
  /** The version that introduced it; older callers get `api_version_too_old`. */
  readonly since: Version;
  /** The permission that the caller's role must grant; null: any valid credential. */
  readonly permission: Permission | AdminPermission | null;
  /**
   * A lesser permission that is enough for the caller's own state or work, and a name for that ("your own messages"). The
   * pipeline admits a caller that has either. The handler requires `permission` once it knows that the resource is not the
   * caller's own.
   */
  readonly own?: { readonly permission: Permission; readonly of: string };
  /**
   * Credential and Service-Account are neither required nor read: the body itself proves the caller's identity. `principal`
   * is NOBODY, and `permission` is null.
   */
  readonly open?: boolean;
  /** Answers also while the account's subscription is not active, so that a caller can find out why others refuse. */
  readonly unsubscribed?: boolean;
  /** Customers may call it (docs/contract.md#customers). By default they may not. */
  readonly customers?: boolean;
  /**
   * False: closed to agents and not an endpoint tool (docs/contract.md#limits-of-agents): endpoints that decide about
   * people's approval, credentials and rights.
   */
  readonly agents?: boolean;
  /** Query parameters; arrays have `[]` in their name. Without it every parameter is unknown. */
  readonly query?: Query;
  /** The JSON body; an empty one counts as `{}`. Without a schema only an empty body or `{}` is accepted. */
  readonly body?: RequestBody;
  /** Success status. */
  readonly status: 200 | 201;
  /** The resource may exist already: then the status is 200 in place of 201. */
  readonly mayExist?: boolean;
  /** Fields that came with later versions than the route declare it themselves (protocol/since.ts). */
  readonly response: TSchema;
  /** The answer shows a secret: it is encrypted if it is stored for an Idempotency-Key. */
  readonly secret?: boolean;
  /** Returns the resource in its newest form as a JSON-serializable value, or bytes that are JSON already. Throws ApiError. */
  readonly handle: (call: Call<Static<Query>, Static<RequestBody>>) => Promise<HandlerResult> | HandlerResult;
}

/** One request that has passed every check of the pipeline. */
export interface Call<Query = unknown, RequestBody = unknown> {
  readonly principal: Principal;
  readonly version: Version;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: RequestBody;
  /** What the request is a part of, where the caller said so. */
  readonly trace: TraceContext | undefined;
  /** Path and query as sent, for page URLs. */
  readonly url: string;
  /**
   * Present with an Idempotency-Key: stores the answer in the transaction of the effect, so that after a crash either both are
   * there or neither. Return the value that it resolves with. Rejects with ApiError `idempotency_in_progress` if another request
   * took the key over: let it roll the transaction back. If a handler does not use it, its answer is stored after it.
   */
  readonly remember: Remember | undefined;
}

export type Remember = (tx: Tx, reply: HandlerResult) => Promise<Answer>;

/**
 * A value gets the route's status and the form of the caller's version; a Buffer is JSON already, in the form of
 * `Call.version`; an Answer has a status of its own.
 */
export type HandlerResult = object | Answer;

/** An answer with a status of its own (200 for a resource that existed already). */
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
 * Runs a handler's change in one transaction, together with the stored answer of an Idempotency-Key. `run` makes the reply
 * from what it reads through `tx`.
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
