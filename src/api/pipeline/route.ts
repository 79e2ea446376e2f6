import type { ErrorCondition } from '@parley/protocol/errors/errors.ts';
import type { AdminPermission, Permission } from '@parley/protocol/permissions.ts';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import type { Version } from '@parley/protocol/versions.ts';
import type { Static, TSchema } from 'typebox';
import type { Tx } from '../../platform/db/connection/handle.ts';
import type { OpenBody } from '../../platform/http/open-body.ts';
import type { Principal } from '../access/principal.ts';

/**
 * One endpoint as data, for the pipeline, OpenAPI and agents' endpoint tools. `defineRoute` keeps
 * the types of query and body for the handler. A route that changes something has one of two forms,
 * and the compiler accepts no third: the pipeline opens its transaction, or it says why it commits
 * by itself. A route other than GET that changes nothing says so.
 */
export type Route<
  Query extends TSchema = TSchema,
  RequestBody extends TSchema = TSchema,
  Prepared = unknown,
> =
  | ReadRoute<Query, RequestBody>
  | AskingRoute<Query, RequestBody>
  | ChangeRoute<Query, RequestBody, Prepared>
  | CommittingRoute<Query, RequestBody>;

/** A route that changes nothing: the pipeline opens no transaction for it. */
export interface ReadRoute<Query extends TSchema = TSchema, RequestBody extends TSchema = TSchema>
  extends RouteFacts<Query, RequestBody> {
  readonly method: 'GET';
  /** Returns true if the call hardly ever uses the pool (Database.reader). Absent if all do. */
  readonly isUnpooled?: (query: Static<Query>, principal: Principal) => boolean;
  /** Returns the resource in its newest form. Throws ApiError. */
  readonly handle: Handler<Call<Static<Query>, Static<RequestBody>>, HandlerResult>;
  readonly asks?: undefined;
  readonly prepare?: undefined;
  readonly change?: undefined;
  readonly commits?: undefined;
}

/**
 * A route that changes nothing, like a GET, but has a body as its question. There is no answer to
 * keep, so an Idempotency-Key is not read.
 */
export interface AskingRoute<Query extends TSchema = TSchema, RequestBody extends TSchema = TSchema>
  extends RouteFacts<Query, RequestBody> {
  readonly method: 'POST';
  readonly asks: true;
  /** Returns the resource in its newest form, or an open answer. Throws ApiError. */
  readonly handle: Handler<Call<Static<Query>, Static<RequestBody>>, HandlerResult | OpenReply>;
  readonly prepare?: undefined;
  readonly change?: undefined;
  readonly commits?: undefined;
}

/**
 * A route that changes something in one transaction, which the pipeline opens once its checks have
 * passed. The pipeline stores the answer for an Idempotency-Key in it, so that after a crash both
 * or neither exist.
 */
export interface ChangeRoute<
  Query extends TSchema = TSchema,
  RequestBody extends TSchema = TSchema,
  Prepared = unknown,
> extends RouteFacts<Query, RequestBody> {
  readonly method: ChangingMethod;
  /** Checks and reads before the transaction. Write it before `change`, which gets its result. */
  readonly prepare?: Handler<Call<Static<Query>, Static<RequestBody>>, Prepared>;
  /** Returns the resource in its newest form, read through `tx`. Throws ApiError, to roll back. */
  readonly change: (
    tx: Tx,
    call: ChangeCall<Static<Query>, Static<RequestBody>>,
    prepared: Prepared,
  ) => Promise<HandlerResult>;
  readonly handle?: undefined;
  readonly asks?: undefined;
  readonly commits?: undefined;
}

/** A route that changes something which no transaction of the pipeline can contain. */
export interface CommittingRoute<Query extends TSchema = TSchema, RequestBody extends TSchema = TSchema>
  extends RouteFacts<Query, RequestBody> {
  readonly method: ChangingMethod;
  /** A sentence on where it commits, and why. */
  readonly commits: string;
  /** Returns the result of `call.answer` for the resource's newest form. Throws ApiError. */
  readonly handle: Handler<CommittingCall<Static<Query>, Static<RequestBody>>, Answered>;
  readonly asks?: undefined;
  readonly prepare?: undefined;
  readonly change?: undefined;
}

type ChangingMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

type Handler<C, Result> = (call: C) => Promise<Result> | Result;

/** Resources made without a credential, each with a limit of its own. */
export type Scarce = 'registrations' | 'visitors';

interface RouteFacts<Query extends TSchema, RequestBody extends TSchema> {
  /** Unique, such as `send_message`; OpenAPI's operationId and, with dashes, the tool's slug. */
  readonly name: string;
  /** Has `:name` for parameters: `/v1/roles/:id`. */
  readonly path: string;
  /** One line for the documentation. */
  readonly summary: string;
  /** The version that introduced it; older callers get `api_version_too_old`. */
  readonly since: Version;
  /** The permission that the caller's role must grant; null for any valid credential. */
  readonly permission: Permission | AdminPermission | null;
  /**
   * A lesser permission that suffices for the caller's own state or work, and its name ("your own
   * messages"). The pipeline admits a caller with either. The handler requires `permission` once it
   * knows that the resource is not the caller's own.
   */
  readonly own?: { readonly permission: Permission; readonly of: string };
  /**
   * True if credential and Service-Account are neither required nor read: the body itself proves
   * the caller's identity. `principal` is UNAUTHENTICATED, and `permission` is null.
   */
  readonly open?: boolean;
  /**
   * The version from which the body may prove the caller's identity instead of a credential:
   * without an Authorization header the endpoint is `open`, and its rules require the proof.
   */
  readonly mayBeOpen?: Version;
  /** A resource that few addresses make twice, with a far lower limit per address. */
  readonly scarce?: Scarce;
  /** True to count under the limits of polls, not under those of other requests. */
  readonly polls?: boolean;
  /** True to answer with an inactive subscription too, so that callers see why others refuse. */
  readonly unsubscribed?: boolean;
  /**
   * Present for endpoints of operators, which have paths of their own: for all other callers
   * nothing is there (docs/contract.md#the-installation). `keys`: for keys of operators alone,
   * which name no account in Service-Account. They are closed to agents, too.
   */
  readonly operators?: 'all' | 'keys';
  /** True if customers may call it (docs/contract.md#customers). */
  readonly customers?: boolean;
  /**
   * False closes it to agents and their tools (docs/contract.md#limits-of-agents), for endpoints
   * that decide about people's approval, credentials and rights.
   */
  readonly agents?: boolean;
  /**
   * Returns whether a call with this body reaches people outside the account. In an agent's run
   * that a mail started, such a call needs review (docs/contract.md#tools). Absent if no call does.
   */
  readonly reachesOutside?: (body: Static<RequestBody>) => boolean;
  /** Query parameters; arrays have `[]` in their names. If absent, every parameter is unknown. */
  readonly query?: Query;
  /** The JSON body; an empty one counts as `{}`. Without a schema, nothing else is accepted. */
  readonly body?: RequestBody;
  /**
   * Checks path, query and body beyond the schemas: fields that depend on each other, times, the
   * configuration. It runs before any named resource is read, so that a request that no resource
   * could fit is refused for that. Throws ApiError.
   */
  readonly rules?: Handler<Call<Static<Query>, Static<RequestBody>>, void>;
  /** The media type of a success. Default: `application/json`. */
  readonly contentType?: string;
  /** Success status. Default: 200. */
  readonly status?: 200 | 201;
  /** True if the resource may exist already: the status is then 200 instead of 201. */
  readonly mayExist?: boolean;
  /** Later fields declare their versions themselves (packages/protocol/schema/since.ts). */
  readonly response: TSchema;
  /**
   * True for a PUT that creates or changes the resource of `ext:<external_id>` in its path: the
   * handler gets the path as sent.
   */
  readonly upserts?: boolean;
  /** True if the answer shows a secret: it is then stored encrypted for an Idempotency-Key. */
  readonly secret?: boolean;
  /**
   * True if nothing in the request proves that a repetition comes from the same caller. The answer
   * is then not stored: a repetition with the same Idempotency-Key has no effect and is answered
   * `resource_gone`.
   */
  readonly once?: boolean;
  /** Conditions beside the usual conditions of its kind (openapi/refusals.ts). */
  readonly refuses?: readonly ErrorCondition[];
  /** True to compile its validators before the server listens, because it is called often. */
  readonly frequent?: boolean;
}

/** One request that has passed every check of the pipeline. */
export interface Call<Query = unknown, RequestBody = unknown> {
  readonly principal: Principal;
  readonly version: Version;
  readonly params: Readonly<Record<string, string>>;
  /** Service-Account as sent; only a caller with a credential is known to belong to it. */
  readonly account: string | undefined;
  readonly query: Query;
  readonly body: RequestBody;
  /** The trace that the caller sent, if any. */
  readonly trace: TraceContext | undefined;
  /** Path and query as sent, for page URLs. */
  readonly url: string;
}

interface ChangeCall<Query = unknown, RequestBody = unknown> extends Call<Query, RequestBody> {
  /**
   * Calls `run` after the commit and waits for it before the answer. If it rejects, the request
   * fails, but the change stands.
   */
  afterCommit(run: () => void | Promise<void>): void;
}

export interface CommittingCall<Query = unknown, RequestBody = unknown> extends Call<Query, RequestBody> {
  /**
   * Makes the answer, and stores it for an Idempotency-Key. With `tx`, the transaction of the
   * effect, after a crash both or neither exist. It then rejects with ApiError
   * `idempotency_in_progress` if another request took the key over: let that roll the effect back.
   * Pass undefined to store after the handler, if nothing was changed or the effect is in no
   * transaction.
   */
  answer(reply: HandlerResult, tx: Tx | undefined): Promise<Answered> | Answered;
}

/** Proves a decision about storing the answer: only `CommittingCall.answer` makes one. */
export interface Answered {
  readonly [ANSWERED]: true;
}

declare const ANSWERED: unique symbol;

/** A JSON-serializable value with the route's status, or an Answer with its own. */
export type HandlerResult = object | Answer;

/** An answer with its own status (200 for a resource that existed already), or a repeated one. */
export class Answer<Value extends object = object> {
  readonly status: number;
  /** JSON-serializable. */
  readonly value: Value;
  /** Whether an own key in the body was known, so nothing was done (Idempotent-Replayed). */
  readonly isRepeated: boolean;

  constructor(status: number, value: Value, isRepeated = false) {
    this.status = status;
    this.value = value;
    this.isRepeated = isRepeated;
  }
}

/**
 * An answer with status 200 whose body is written as it comes, in the form of the caller's version.
 */
export class OpenReply {
  readonly body: OpenBody;
  /** Values never have text of a caller. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(body: OpenBody, headers: Readonly<Record<string, string>>) {
    this.body = body;
    this.headers = headers;
  }
}

export function defineRoute<const Query extends TSchema, const RequestBody extends TSchema, Prepared>(
  route: Route<Query, RequestBody, Prepared>,
): Route {
  return route as unknown as Route;
}
