import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { formAt } from '@parley/protocol/forms/forms.ts';
import { parseExact } from '@parley/protocol/json/exact-json.ts';
import { EXTERNAL_SINCE } from '@parley/protocol/schema/external-ids.ts';
import { covers, NEWEST_VERSION, type Version } from '@parley/protocol/versions.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import type { BodyReceiver } from '../../platform/http/body-stream.ts';
import type { Exchange } from '../../platform/http/exchange.ts';
import { requireUnmoved } from '../access/account-moves.ts';
import { requireAccount, requirePermission, requireSubscription } from '../access/authorize.ts';
import { type Begun, fingerprintOf, type IdempotencyClaim } from '../access/idempotency.ts';
import { type Principal, UNAUTHENTICATED } from '../access/principal.ts';
import type { RateState } from '../access/rate-window.ts';
import { markedJson, unmarkedForm } from '../marked-json.ts';
import type { Endpoint } from './endpoint.ts';
import { hasExternalIds, type IdPlaces, replaceExternalIds } from './external-ids.ts';
import { requireJsonType } from './json-type.ts';
import { operatorsOf, requireOperator } from './operator-paths.ts';
import { openCursor, Page } from './pagination.ts';
import { decodeText } from './query.ts';
import type { AnsweredRequest } from './request-log.ts';
import {
  Answer,
  type Answered,
  type Call,
  type ChangeRoute,
  type CommittingCall,
  type HandlerResult,
  OpenReply,
  type ReadRoute,
  type Route,
} from './route.ts';
import { type Match, methodsOf, paramsOf } from './router.ts';
import type { Entrance, Limiter, RunHost } from './run-host.ts';
import { requireVersion } from './spoken-version.ts';

/**
 * The life of one request. Each step is a method that ends with the call of the next, in the order
 * of docs/contract.md#order-of-checks: address limit → route → operator → method → version →
 * credential → account → subscription → rate limit → permission → query → body → idempotency →
 * external ids → rules → handler. An open endpoint goes from the version, perhaps over a second
 * limit of its address, to the query. A step waits only if it must: with a cached caller, no step
 * before the rules waits. Rules follow idempotency, because a time that has passed must not refuse
 * a replay.
 */
export class RequestRun implements BodyReceiver, AnsweredRequest {
  readonly #http: RunHost;
  readonly #exchange: Exchange;
  readonly #entrance: Entrance;
  /** Undefined if there is nothing at its path. */
  readonly #match: Match<Endpoint> | undefined;
  #endpoint: Endpoint | undefined;
  #params: Readonly<Record<string, string>> = NO_PARAMS;
  #version: Version | undefined;
  #principal: Principal | undefined;
  /** The caller at a path of operators. */
  #operator: Principal | undefined;
  #query: unknown;
  #body: unknown;
  #claim: IdempotencyClaim | undefined;
  /** The last limit that was checked. */
  #limiter: Limiter | undefined;
  /** Undefined until a limit needs it. */
  #address: string | undefined;

  constructor(http: RunHost, exchange: Exchange, entrance: Entrance) {
    this.#http = http;
    this.#exchange = exchange;
    this.#entrance = entrance;
    this.#match = entrance.find(exchange.head.path);
    this.#principal = entrance.principal;
  }

  get route(): string {
    return this.#endpoint?.route.path ?? 'none';
  }

  get principal(): Principal | undefined {
    return this.#principal;
  }

  get #isRead(): boolean {
    return this.#endpoint!.route.method === 'GET' || this.#endpoint!.route.asks === true;
  }

  get runId(): string | undefined {
    return this.#entrance.runId;
  }

  begin(): void {
    this.#guarded(this.#limitAddress);
  }

  bodyArrived(text: string): void {
    this.#guarded(this.#readBody, text);
  }

  bodyFailed(error: ApiError): void {
    this.#fail(error);
  }

  #limitAddress(): void {
    const isPoll = this.#match?.byMethod.get(this.#exchange.head.method)?.route.route.polls === true;
    const polls = this.#http.parts.pollLimiters?.addresses;
    this.#limitBy(isPoll ? polls : this.#entrance.addressLimiter, this.#findRoute);
  }

  #limitBy(limiter: Limiter | undefined, next: (this: RequestRun) => void): void {
    if (limiter === undefined) {
      next.call(this);
      return;
    }
    this.#limiter = limiter;
    this.#address ??= this.#exchange.readAddress();
    const consumed = limiter.consume(this.#address);
    if (consumed instanceof Promise) this.#await(consumed, next);
    else next.call(this);
  }

  #findRoute(): void {
    const { path } = this.#exchange.head;
    if (this.#match !== undefined) this.#admit(this.#match);
    else if (decodeText(path) !== undefined) throw notFound('endpoint');
    else throw new ApiError('invalid_format', 'The path must be percent-encoded UTF-8 text.');
  }

  #admit(match: Match<Endpoint>): void {
    const operators = operatorsOf(match);
    if (operators === undefined) {
      this.#checkMethod(match);
      return;
    }
    const entrance = { ...this.#entrance, operatorKeys: this.#http.parts.operatorKeys };
    this.#await(requireOperator(operators, entrance, this.#exchange.head), (operator) => {
      this.#operator = operator;
      this.#checkMethod(match);
    });
  }

  #checkMethod(match: Match<Endpoint>): void {
    const { method } = this.#exchange.head;
    if (method === 'OPTIONS') {
      this.#http.origins.answerOptions(this.#exchange, methodsOf(match));
      return;
    }
    const entry = match.byMethod.get(method === 'HEAD' ? 'GET' : method);
    if (entry === undefined) {
      this.#exchange.setHeader('Allow', methodsOf(match));
      throw new ApiError('method_not_allowed', `This endpoint accepts ${methodsOf(match)}.`);
    }
    this.#endpoint = entry.route;
    if (entry.names.length > 0) this.#params = paramsOf(entry, match);
    this.#checkVersion(entry.route.route);
  }

  #checkVersion({ since, open, mayBeOpen }: Route): void {
    const { version, authorization } = this.#exchange.head;
    this.#version = requireVersion(version, since);
    const needsNone =
      mayBeOpen !== undefined && authorization === undefined && covers(this.#version, mayBeOpen);
    if (open === true || needsNone) this.#limitScarce();
    else this.#authenticate();
  }

  #limitScarce(): void {
    const { scarce } = this.#endpoint!.route;
    const limiter = scarce && this.#http.parts.scarceLimiters?.[scarce];
    this.#limitBy(limiter, this.#admitUnauthenticated);
  }

  #admitUnauthenticated(): void {
    this.#principal = UNAUTHENTICATED;
    this.#readQuery();
  }

  #authenticate(): void {
    const { authorization, account } = this.#exchange.head;
    const principal = this.#operator ?? this.#entrance.authenticator.authenticate(authorization, account);
    if (principal instanceof Promise) this.#await(principal, this.#checkAccount);
    else this.#checkAccount(principal);
  }

  #checkAccount(principal: Principal): void {
    this.#principal = principal;
    // The key of an operator belongs to no account.
    if (principal.credential.kind !== 'operator_key') requireAccount(principal, this.#exchange.head.account);
    if (principal.move !== undefined && !this.#isRead) requireUnmoved(principal.move);
    if (this.#endpoint!.route.unsubscribed !== true) requireSubscription(principal);
    this.#limitRate(principal);
  }

  #limitRate(principal: Principal): void {
    const { limiter, pollLimiters } = this.#http.parts;
    const isPoll = this.#endpoint!.route.polls === true;
    this.#limiter = isPoll ? pollLimiters?.actors : limiter;
    const state = this.#limiter?.consume(isPoll ? principal.actor.id : principal.credential.id);
    if (state instanceof Promise) this.#await(state, this.#showRate);
    else this.#showRate(state);
  }

  #showRate(state: RateState | undefined): void {
    if (state !== undefined) {
      this.#exchange.setHeader('RateLimit-Limit', String(state.limit));
      this.#exchange.setHeader('RateLimit-Remaining', String(state.remaining));
      this.#exchange.setHeader('RateLimit-Reset', String(state.resetS));
    }
    this.#exchange.answerTo(this.#principal!.credential.id);
    this.#checkPermission(this.#principal!, this.#endpoint!);
  }

  #showUsedUp({ retryAfterS }: ApiError): void {
    const limit = this.#limiter?.limit;
    if (limit !== undefined) this.#exchange.setHeader('RateLimit-Limit', String(limit));
    this.#exchange.setHeader('RateLimit-Remaining', '0');
    if (retryAfterS !== undefined) this.#exchange.setHeader('RateLimit-Reset', String(retryAfterS));
  }

  #checkPermission(principal: Principal, { route }: Endpoint): void {
    if (principal.customer) {
      // Customers have no role, but a list of endpoints.
      if (route.customers !== true) throw closedTo('Customers');
    } else {
      if (route.agents === false && principal.actor.type === 'agent') throw closedTo('Agents');
      if (route.permission !== null) requirePermission(principal, route.permission, route.own?.permission);
    }
    this.#readQuery();
  }

  #readQuery(): void {
    this.#query = this.#endpoint!.readQuery(this.#exchange.head.query, this.#version!);
    openCursor(this.#query, this.#http.cursors);
    this.#checkType();
  }

  #checkType(): void {
    const { contentLength, contentType } = this.#exchange.head;
    if (contentLength > 0) this.#mustBeJson(() => requireJsonType(contentType));
    this.#exchange.whenBody(this);
  }

  #readBody(text: string): void {
    const value = text === '' ? {} : this.#mustBeJson(() => this.#endpoint!.parseBody(text));
    this.#body = this.#endpoint!.readBody(value, this.#version!);
    this.#claimKey();
  }

  /** Closes behind a non-JSON body: a proxy may have framed it differently than this server. */
  #mustBeJson<T>(check: () => T): T {
    try {
      return check();
    } catch (error) {
      this.#exchange.closeBehind();
      throw error;
    }
  }

  #claimKey(): void {
    const { idempotency } = this.#http.parts;
    const { method, path, query, idempotencyKey } = this.#exchange.head;
    if (idempotencyKey === undefined || this.#isRead || idempotency === undefined) {
      this.#findIds();
      return;
    }
    const { accountId, actor } = this.#principal!;
    const fingerprint = fingerprintOf(query, this.#body);
    // Without a credential, content distinguishes callers, who choose keys independently.
    const actorId = this.#principal === UNAUTHENTICATED ? fingerprint.toString('base64url') : actor.id;
    const scope = { accountId, actorId, method, path };
    this.#await(idempotency.begin(scope, idempotencyKey, fingerprint), this.#replayOrHandle);
  }

  #replayOrHandle({ replay, claim }: Begun): void {
    if (replay !== undefined) {
      this.#answer(replay.status, unmarkedForm(this.#version!, replay.body), true);
      return;
    }
    this.#claim = claim;
    this.#findIds();
  }

  /** Follows the idempotency, because a key belongs to what the caller sent. */
  #findIds(): void {
    const { ids } = this.#endpoint!;
    if (ids === undefined || !hasExternalIds(ids, this.#params, this.#query, this.#body)) this.#checkRules();
    else this.#replaceIds(ids);
  }

  #replaceIds(places: IdPlaces): void {
    const { externalIds } = this.#http.parts;
    // Tools of agents speak the stable version, and name what their prompts say.
    const isKnown = this.runId !== undefined || covers(this.#version!, EXTERNAL_SINCE);
    if (externalIds === undefined || !isKnown) {
      this.#checkRules();
      return;
    }
    const [principal, params] = [this.#principal!, this.#params];
    const replaced = replaceExternalIds(externalIds, principal, places, params, this.#query, this.#body);
    this.#await(replaced, this.#goOnWith);
  }

  #goOnWith(params: Readonly<Record<string, string>>): void {
    this.#params = params;
    this.#checkRules();
  }

  #checkRules(): void {
    const checked = this.#endpoint!.route.rules?.(this.#call());
    if (checked instanceof Promise) this.#await(checked, this.#handle);
    else this.#handle();
  }

  #handle(): void {
    const { route } = this.#endpoint!;
    let reply: Promise<HandlerResult | OpenReply> | HandlerResult | OpenReply;
    if (route.change !== undefined) reply = this.#change(route);
    else if (route.asks === true) reply = route.handle(this.#call());
    else if (route.commits !== undefined) reply = route.handle(this.#committingCall());
    else reply = this.#read(route);
    if (reply instanceof Promise) this.#await(reply, this.#reply);
    else this.#reply(reply);
  }

  async #change({ prepare, change }: ChangeRoute): Promise<HandlerResult> {
    const afterCommit: (() => void | Promise<void>)[] = [];
    const call = {
      ...this.#call(),
      afterCommit: (run: () => void | Promise<void>) => void afterCommit.push(run),
    };
    const prepared = await prepare?.(call);
    const reply = await this.#inTurn(() =>
      this.#withConnection(() =>
        this.#http.parts.database.transaction(async (tx) =>
          this.#storeIn(tx, await change(tx, call, prepared)),
        ),
      ),
    );
    for (const run of afterCommit) await run();
    return reply;
  }

  #read(route: ReadRoute): Promise<HandlerResult> | HandlerResult {
    if (route.isUnpooled?.(this.#query, this.#principal!) === true) return route.handle(this.#call());
    return this.#withConnection(async () => route.handle(this.#call()));
  }

  /** Limits the pool's connections for one credential's requests, so that others find some. */
  #withConnection<T>(work: () => Promise<T>): Promise<T> {
    const principal = this.#principal!;
    if (principal === UNAUTHENTICATED) return work();
    return this.#http.connectionQueue.run(principal.credential.id, work);
  }

  /**
   * Runs one caller's changes of one resource one by one, waiting without a connection. Otherwise
   * requests that wait for its row's lock would hold every connection of the pool, and all other
   * requests would be refused.
   */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#endpoint!.route.path.includes(':')) return work();
    return this.#http.changeQueue.run(`${this.#principal!.actor.id} ${this.#exchange.head.path}`, work);
  }

  #committingCall(): CommittingCall {
    const answer = (reply: HandlerResult, tx: Tx | undefined) =>
      (tx === undefined ? reply : this.#storeIn(tx, reply)) as Answered | Promise<Answered>;
    return { ...this.#call(), answer };
  }

  #call(): Call {
    const { head } = this.#exchange;
    return {
      principal: this.#principal!,
      version: this.#version!,
      params: this.#params,
      account: head.account,
      query: this.#query,
      body: this.#body,
      trace: head.trace,
      url: head.query === '' ? head.path : `${head.path}?${head.query}`,
    };
  }

  #reply(reply: HandlerResult | OpenReply): void {
    const claim = this.#claim;
    if (reply instanceof OpenReply) this.#answerOpen(reply);
    else if (claim === undefined) {
      const { status, value, isRepeated } = this.#outcome(reply);
      this.#answer(status, this.#serialize(value), isRepeated);
    } else if (reply instanceof StoredAnswer) this.#answerStored(reply);
    else {
      const stored = this.#toStored(reply);
      this.#await(this.#keep(claim, stored.status, stored.value), () => this.#answerStored(stored));
    }
  }

  async #storeIn(tx: Tx, reply: HandlerResult): Promise<HandlerResult> {
    if (this.#claim === undefined) return reply;
    const stored = this.#toStored(reply);
    const { secret = false, once = false } = this.#endpoint!.route;
    await this.#claim.complete(stored.status, stored.value, { tx, secret, once });
    return stored;
  }

  #outcome(reply: HandlerResult): Answer {
    return reply instanceof Answer ? reply : new Answer(this.#endpoint!.route.status ?? 200, reply);
  }

  #serialize(value: object): string | Buffer {
    const { response } = this.#endpoint!.route;
    if (value instanceof Page) {
      const { data } = formAt(this.#version!, response, value, this.#principal);
      return value.toText(this.#http.cursors, data);
    }
    return JSON.stringify(formAt(this.#version!, response, value, this.#principal));
  }

  #toStored(reply: HandlerResult): StoredAnswer {
    const { status, value, isRepeated } = this.#outcome(reply);
    const { response } = this.#endpoint!.route;
    const whole = value instanceof Page ? parseExact(`${value.toText(this.#http.cursors)}`) : value;
    const shown = formAt(NEWEST_VERSION, response, whole, this.#principal);
    return new StoredAnswer(status, markedJson(response, shown), isRepeated);
  }

  #answerStored({ status, value, isRepeated }: StoredAnswer): void {
    this.#answer(status, unmarkedForm(this.#version!, value), isRepeated);
  }

  /** Never rejects, because the effect stands and is answered, even if the answer is not stored. */
  async #keep(claim: IdempotencyClaim, status: number, body: string | Buffer): Promise<void> {
    const { secret = false } = this.#endpoint!.route;
    try {
      await claim.complete(status, Buffer.from(body), { secret });
    } catch (error) {
      this.#http.parts.log.warn(
        { request_id: this.#exchange.id, err: error },
        'could not store the answer for its Idempotency-Key',
      );
    }
  }

  #answer(status: number, body: string | Buffer, isRepeated: boolean): void {
    if (isRepeated) this.#exchange.setHeader('Idempotent-Replayed', 'true');
    this.#http.answer(this.#exchange, { status, body }, this);
  }

  #answerOpen({ body, headers }: OpenReply): void {
    for (const [name, value] of Object.entries(headers)) this.#exchange.setHeader(name, value);
    const { contentType = 'application/json' } = this.#endpoint!.route;
    this.#http.answer(this.#exchange, { status: 200, body, contentType }, this);
  }

  #fail(thrown: unknown): void {
    const error = this.#http.failures.map(thrown);
    if (error.condition === 'rate_limit_exceeded') this.#showUsedUp(error);
    const answer = () => this.#explain(error);
    if (this.#claim === undefined) answer();
    // The status decides whether the key is released or the refusal stored.
    else {
      const body = this.#http.failures.toBody(error, this.#exchange.id);
      this.#keep(this.#claim, error.status, body).then(answer, answer);
    }
  }

  /** Answers a refusal; for a caller of another account, with the place of that account. */
  #explain(error: ApiError): void {
    const answer = (shown: ApiError) => this.#http.answerError(this.#exchange, shown, this);
    const [{ whereabouts }, { account }] = [this.#http.parts, this.#exchange.head];
    const isKnown = this.#endpoint === undefined || this.#principal?.accountId === account;
    if (isKnown || whereabouts === undefined) answer(error);
    else void whereabouts.explain(error, account).then(answer);
  }

  #guarded<T>(step: (this: RequestRun, value: T) => void, value: T): void;
  #guarded(step: (this: RequestRun) => void): void;
  #guarded<T>(step: (this: RequestRun, value: T | undefined) => void, value?: T): void {
    try {
      step.call(this, value);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #await<T>(promise: Promise<T>, step: (this: RequestRun, value: T) => void): void {
    promise.then(
      (value) => this.#guarded(step, value),
      (thrown: unknown) => this.#fail(thrown),
    );
  }
}

/** In the newest form, with marks (api/marked-json.ts), for every version's callers. */
class StoredAnswer extends Answer<Buffer> {}
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

function closedTo(whom: string): ApiError {
  return new ApiError('insufficient_permissions', `${whom} cannot call this endpoint.`);
}
