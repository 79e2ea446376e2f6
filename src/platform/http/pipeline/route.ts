import type { Static, TSchema } from 'typebox';
import type { ErrorCondition } from '../../../contract/protocol/errors.ts';
import type { AdminPermission, Permission } from '../../../contract/protocol/permissions.ts';
import type { TraceContext } from '../../../contract/protocol/traceparent.ts';
import type { Version } from '../../../contract/protocol/versions.ts';
import type { Principal } from '../../access/principal.ts';
import type { Tx } from '../../db/connection/handle.ts';

/**
 * One endpoint as data: the pipeline checks it, OpenAPI prints it, and agents' endpoint tools are
 * made from it. `defineRoute` keeps the types of query and body for the handler. A route that
 * changes something has one of two forms, and the compiler accepts no third: either the pipeline
 * opens its transaction, or it says why it commits by itself.
 */
export type Route<
  Query extends TSchema = TSchema,
  RequestBody extends TSchema = TSchema,
  Prepared = unknown,
> =
  | ReadRoute<Query, RequestBody>
  | ChangeRoute<Query, RequestBody, Prepared>
  | CommittingRoute<Query, RequestBody>;

/** Changes nothing: the pipeline opens no transaction for it. */
export interface ReadRoute<Query extends TSchema = TSchema, RequestBody extends TSchema = TSchema>
  extends RouteFacts<Query, RequestBody> {
  readonly method: 'GET';
  /**
   * Whether a call with this query takes a connection of the pool next to never (Database.reader).
   * Absent: each takes one.
   */
  readonly isUnpooled?: (query: Static<Query>, principal: Principal) => boolean;
  /** Returns the resource in its newest form. Throws ApiError. */
  readonly handle: Handler<Call<Static<Query>, Static<RequestBody>>, HandlerResult>;
  readonly prepare?: undefined;
  readonly change?: undefined;
  readonly commits?: undefined;
}

/**
 * Changes something in one transaction, which the pipeline opens once its checks have passed. The
 * pipeline stores the answer for an Idempotency-Key in the same transaction, so that after a crash
 * either both are there or neither.
 */
export interface ChangeRoute<
  Query extends TSchema = TSchema,
  RequestBody extends TSchema = TSchema,
  Prepared = unknown,
> extends RouteFacts<Query, RequestBody> {
  readonly method: ChangingMethod;
  /**
   * Runs before the transaction is opened: checks and reads that need none. Write it before
   * `change`, which gets its result.
   */
  readonly prepare?: Handler<Call<Static<Query>, Static<RequestBody>>, Prepared>;
  /**
   * Returns the resource in its newest form, from what it reads through `tx`. Throws ApiError,
   * which rolls back.
   */
  readonly change: (
    tx: Tx,
    call: ChangeCall<Static<Query>, Static<RequestBody>>,
    prepared: Prepared,
  ) => Promise<HandlerResult>;
  readonly handle?: undefined;
  readonly commits?: undefined;
}

/** Changes something that no transaction of the pipeline can contain. */
export interface CommittingRoute<Query extends TSchema = TSchema, RequestBody extends TSchema = TSchema>
  extends RouteFacts<Query, RequestBody> {
  readonly method: ChangingMethod;
  /** A sentence that says where it commits, and why there. */
  readonly commits: string;
  /** Returns what `call.answer` made of the resource in its newest form. Throws ApiError. */
  readonly handle: Handler<CommittingCall<Static<Query>, Static<RequestBody>>, Answered>;
  readonly prepare?: undefined;
  readonly change?: undefined;
}

type ChangingMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

type Handler<C, Result> = (call: C) => Promise<Result> | Result;

interface RouteFacts<Query extends TSchema, RequestBody extends TSchema> {
  /**
   * Such as `send_message`; unique. It is the operationId of OpenAPI and, with dashes, the slug of
   * the endpoint tool.
   */
  readonly name: string;
  /** With `:name` for parameters: `/v1/messaging/conversations/:id/messages`. */
  readonly path: string;
  /** One line for the documentation. */
  readonly summary: string;
  /** The version that introduced it; older callers get `api_version_too_old`. */
  readonly since: Version;
  /** The permission that the caller's role must grant, or null for any valid credential. */
  readonly permission: Permission | AdminPermission | null;
  /**
   * A lesser permission that is enough for the caller's own state or work, and a name for that
   * ("your own messages"). The pipeline admits a caller that has either. The handler requires
   * `permission` once it knows that the resource is not the caller's own.
   */
  readonly own?: { readonly permission: Permission; readonly of: string };
  /**
   * Credential and Service-Account are neither required nor read: the body itself proves the
   * caller's identity. `principal` is UNAUTHENTICATED, and `permission` is null.
   */
  readonly open?: boolean;
  /**
   * An open endpoint that few addresses call more than once: limited per address far below all
   * others.
   */
  readonly scarce?: boolean;
  /**
   * Answers also while the account's subscription is not active, so that a caller can find out why
   * others refuse.
   */
  readonly unsubscribed?: boolean;
  /** Customers may call it (docs/contract.md#customers). By default they may not. */
  readonly customers?: boolean;
  /**
   * False: closed to agents and not an endpoint tool (docs/contract.md#limits-of-agents): endpoints
   * that decide about people's approval, credentials and rights.
   */
  readonly agents?: boolean;
  /**
   * Whether a call with this body reaches people outside the account. In a run of an agent that a
   * mail started, such a call needs review (docs/contract.md#tools). Absent: none does.
   */
  readonly reachesOutside?: (body: Static<RequestBody>) => boolean;
  /** Query parameters; arrays have `[]` in their name. Without it every parameter is unknown. */
  readonly query?: Query;
  /**
   * The JSON body; an empty one counts as `{}`. Without a schema only an empty body or `{}` is
   * accepted.
   */
  readonly body?: RequestBody;
  /**
   * Checks what the schemas cannot say about path, query and body: fields that depend on each
   * other, times, what only the configuration allows. It runs before anything that the request
   * names is read, so that a request that no resource could fit is refused for that. Throws
   * ApiError.
   */
  readonly rules?: Handler<Call<Static<Query>, Static<RequestBody>>, void>;
  /** Success status. */
  readonly status: 200 | 201;
  /** The resource may exist already: then the status is 200 instead of 201. */
  readonly mayExist?: boolean;
  /**
   * Fields that came with later versions than the route declare it themselves
   * (contract/protocol/schema/since.ts).
   */
  readonly response: TSchema;
  /** The answer shows a secret: it is encrypted if it is stored for an Idempotency-Key. */
  readonly secret?: boolean;
  /**
   * Nothing in the request proves that a repetition comes from the same caller, so the answer is
   * not stored: a repetition with the same Idempotency-Key has no effect, and is answered
   * `resource_gone`.
   */
  readonly once?: boolean;
  /** Conditions that it may answer beside those of its kind (openapi/refusals.ts). */
  readonly refuses?: readonly ErrorCondition[];
  /**
   * Called so often that nothing may be left to do for the first request: its validators are
   * compiled before the server listens.
   */
  readonly frequent?: boolean;
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
}

export interface ChangeCall<Query = unknown, RequestBody = unknown> extends Call<Query, RequestBody> {
  /**
   * Has `run` called once the transaction is committed, and waited for before the request is
   * answered. If it rejects, the request fails, but the change stands.
   */
  afterCommit(run: () => void | Promise<void>): void;
}

export interface CommittingCall<Query = unknown, RequestBody = unknown> extends Call<Query, RequestBody> {
  /**
   * Makes the answer, and stores it for an Idempotency-Key: with `tx`, in this transaction of the
   * effect, so that after a crash either both are there or neither. Rejects then with ApiError
   * `idempotency_in_progress` if another request took the key over: let it roll the transaction
   * back. With undefined, after the handler: where nothing was changed, or where the effect is in
   * no transaction.
   */
  answer(reply: HandlerResult, tx: Tx | undefined): Promise<Answered> | Answered;
}

/**
 * An answer whose place in the store for Idempotency-Keys was decided: only `CommittingCall.answer`
 * makes one.
 */
export interface Answered {
  readonly [ANSWERED]: true;
}

declare const ANSWERED: unique symbol;

/** A JSON-serializable value gets the route's status; an Answer has a status of its own. */
export type HandlerResult = object | Answer;

/** An answer with a status of its own (200 for a resource that existed already). */
export class Answer<Value extends object = object> {
  readonly status: number;
  /** JSON-serializable. */
  readonly value: Value;

  constructor(status: number, value: Value) {
    this.status = status;
    this.value = value;
  }
}

export function defineRoute<const Query extends TSchema, const RequestBody extends TSchema, Prepared>(
  route: Route<Query, RequestBody, Prepared>,
): Route {
  return route as unknown as Route;
}
