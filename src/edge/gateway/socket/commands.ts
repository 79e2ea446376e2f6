import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import type { DeclaredStatus } from '@parley/protocol/resources/activity.ts';
import type { CloseReason } from '@parley/protocol/socket/close-codes.ts';
import type { CommandFrame, CommandResult, Op } from '@parley/protocol/socket/commands.ts';
import { RETRY_AFTER_SINCE, type ReplyFrame } from '@parley/protocol/socket/server-frames.ts';
import type { SocketLimits } from '@parley/protocol/socket/socket-limits.ts';
import { covers, SOCKETS_SINCE } from '@parley/protocol/versions.ts';
import { requireAccount, requirePermission, requireSubscription } from '../../../api/access/authorize.ts';
import type { ExternalIds } from '../../../api/access/external-ids.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { logFailure } from '../../../api/pipeline/failure.ts';
import { requireVersion } from '../../../api/pipeline/spoken-version.ts';
import { requirePresent } from '../../../core/conversations/directory/access.ts';
import type { Resume } from '../catch-up/resume.ts';
import type { NodeOptions } from '../options.ts';
import type { Activity } from '../presence/activity.ts';
import { type Admission, expiryShown } from '../session/admission.ts';
import { agreed } from '../session/handshake.ts';
import type { HeartbeatCursors } from '../session/heartbeat-cursor.ts';
import { mayFollow, type Revocation } from '../session/revocation.ts';
import type { Session } from '../session/session.ts';
import { type SocketSubscription, tooManySubscriptions } from '../session/session-state.ts';
import type { Joined, Streams } from '../stream/streams.ts';
import { hasOwnIds, ownIdOf, withOurIds } from './own-ids.ts';
import { type AnyFrame, type Request, readRequest } from './requests.ts';

/** The requests of a client that cannot send frames. */
export interface Asked {
  /** Undefined: nothing is declared. */
  readonly status: DeclaredStatus | undefined;
  readonly requests: readonly AnyFrame[];
  /** Sessions of the actor that end when this one has caught up. */
  readonly leaving: number;
}

export interface CommandsOptions
  extends Pick<
    NodeOptions,
    'authenticator' | 'whereabouts' | 'directory' | 'limits' | 'failures' | 'metrics'
  > {
  readonly streams: Pick<Streams, 'join' | 'leave'>;
  readonly externalIds: ExternalIds;
  readonly admission: Admission;
  readonly revocation: Pick<Revocation, 'check'>;
  readonly activity: Activity;
  readonly resume: Resume;
  readonly heartbeatCursors: HeartbeatCursors;
}

/**
 * Executes the requests of clients (docs/realtime.md#requests). Requests of one socket are executed
 * and answered in the order in which they arrive. Only `ping` is answered at once: it asks whether
 * the server is there, not whether Postgres is. No error ends the socket by itself; frames
 * malformed or out of place, and requests over the rate, are counted (client-limits.ts).
 */
export class Commands {
  readonly #options: CommandsOptions;
  /** The sessions with a request under way, each with the requests that wait behind it. */
  readonly #waiting = new Map<Session, Request[]>();

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /** Takes one text frame. Does not use its bytes after it returns. */
  receive(session: Session, bytes: ArrayBuffer): void {
    if (session.closed) return;
    const waitMs = session.takeRequest();
    const request = readRequest(bytes);
    if (request === 'pong') session.pong();
    else if (waitMs === 0) this.#take(session, request);
    else this.#refuse(session, request.id, tooFast(this.#options.limits, waitMs), waitMs);
    if (waitMs > 0) session.countRefusal();
  }

  /** Executes the request now, or behind the present one. */
  #take(session: Session, request: Request): void {
    if (request.frame?.type === 'ping' && session.ready) {
      this.#pong(session, request.frame.id);
      return;
    }
    const waiting = this.#waiting.get(session);
    if (waiting === undefined) this.#run(session, this.#handle(session, request));
    else waiting.push(request);
  }

  /** Makes a session ready whose handshake named the caller, before its first request. */
  admit(session: Session, principal: Principal, rightsRead: number): void {
    this.#run(session, this.#admit(session, principal, rightsRead));
  }

  /**
   * Makes the session of a client that cannot send frames ready, and executes the requests with
   * which it opened. Resolves when everything that was missed has been sent, or the session has
   * closed. Never rejects.
   */
  async serve(session: Session, principal: Principal, asked: Asked): Promise<void> {
    const { activity, resume } = this.#options;
    try {
      await this.#admit(session, principal, undefined, asked.leaving);
      if (asked.status !== undefined) activity.declare(session, asked.status);
      for (const frame of asked.requests) {
        if (session.closed) return;
        await this.#handle(session, { id: frame.id, op: frame.type, frame });
      }
      const replays = [...session.conversationIds].map((id) => session.subscription(id)?.replay);
      await Promise.all([resume.running(session), ...replays]);
    } catch (error) {
      this.#failed(session, error);
    }
  }

  async #admit(session: Session, principal: Principal, rightsRead?: number, leaving?: number): Promise<void> {
    try {
      await this.#options.admission.admit(session, principal, rightsRead, leaving);
    } catch (error) {
      this.#closeFor(session, this.#toApiError(session, error));
    }
  }

  /** Queues requests until `work` settles. Does nothing if `work` is undefined. */
  #run(session: Session, work: Promise<void> | undefined): void {
    if (work === undefined) return;
    const waiting: Request[] = [];
    this.#waiting.set(session, waiting);
    work.then(() => this.#continue(session, waiting)).catch((error) => this.#failed(session, error));
  }

  async #continue(session: Session, waiting: Request[]): Promise<void> {
    for (let next = waiting.shift(); next !== undefined && !session.closed; next = waiting.shift()) {
      await this.#handle(session, next);
    }
    this.#waiting.delete(session);
  }

  /** Handles a defect: a client that got no answer must reconnect instead of waiting for one. */
  #failed(session: Session, error: unknown, frame?: AnyFrame): void {
    this.#waiting.delete(session);
    session.log.error({ ...contextOf(session, frame), err: error }, 'a socket command failed');
    session.close('overloaded', { retryAfterMs: RETRY_MS });
  }

  #handle(session: Session, { id, op, frame, error }: Request): Promise<void> | undefined {
    if (frame?.type === 'authenticate') return this.#authenticate(session, frame);
    const early = op !== undefined && op !== 'authenticate' && !session.ready;
    if (early) {
      const message = 'The socket is not authenticated yet. Send an authenticate frame first.';
      return this.#fault(session, id, new ApiError('invalid_credentials', message));
    }
    if (frame === undefined) return this.#fault(session, id, error);
    if (hasOwnIds(frame, session.version)) return this.#handleOwn(session, frame);
    return this.#execute(session, frame);
  }

  /** Executes a request that names conversations by own ids. */
  async #handleOwn(session: Session, frame: AnyFrame): Promise<void> {
    try {
      const ours = await withOurIds(this.#options.externalIds, session.principal!, frame);
      if (!session.closed) await this.#execute(session, ours, frame);
    } catch (error) {
      this.#refuse(session, frame.id, this.#toApiError(session, error, frame));
    }
  }

  /** `sent` is the frame as the client wrote it. */
  #execute(session: Session, frame: AnyFrame, sent = frame): Promise<void> | undefined {
    switch (frame.type) {
      case 'refresh':
        return this.#answer(session, frame, this.#refresh(session, frame));
      case 'subscribe':
        return this.#subscribe(session, frame, sent as typeof frame);
      case 'resume':
        return this.#resume(session, frame);
      case 'unsubscribe':
        return this.#reply(session, frame.id, this.#unsubscribe(session, frame));
      case 'typing':
        return this.#answer(session, frame, this.#options.activity.type(session, frame));
      case 'mark_read':
        return this.#answer(session, frame, this.#options.activity.markRead(session, frame));
      case 'presence':
        return this.#reply(session, frame.id, this.#options.activity.declare(session, frame.status));
      case 'ping':
        return this.#pong(session, frame.id);
    }
  }

  async #authenticate(session: Session, frame: CommandFrame<'authenticate'>): Promise<void> {
    const { authenticator, whereabouts, admission } = this.#options;
    let account: string | undefined;
    try {
      if (session.principal !== undefined) {
        const message = 'The socket is already authenticated. Use refresh for a newer token.';
        this.#refuse(session, frame.id, new ApiError('resource_conflict', message));
        return;
      }
      const version = requireVersion(
        agreed('version', session.handshake?.version, frame.version, NAMED_OTHERWISE),
        SOCKETS_SINCE,
        ...inFrame('version'),
      );
      account = agreed('account', session.handshake?.account, frame.account, NAMED_OTHERWISE);
      const { rightsRead } = admission;
      const bearer = `Bearer ${frame.token}`;
      const principal = await authenticator.authenticate(bearer, account, ...inFrame('account'));
      requireAccount(principal, account, ...inFrame('account'));
      requireSubscription(principal);
      if (session.closed) return;
      session.version = version;
      await admission.admit(session, principal, rightsRead);
    } catch (thrown) {
      const error = await whereabouts.explain(this.#toApiError(session, thrown, frame), account);
      this.#refuse(session, frame.id, error);
      this.#closeFor(session, error);
    }
  }

  async #refresh(
    session: Session,
    { token }: CommandFrame<'refresh'>,
  ): Promise<CommandResult<'refresh'> | undefined> {
    const { authenticator, admission, revocation } = this.#options;
    const { rightsRead } = admission;
    const principal = await authenticator.authenticate(`Bearer ${token}`, session.principal?.accountId);
    if (session.closed) return undefined;
    if (principal.actor.id !== session.principal?.actor.id) {
      session.close('subject_changed');
      return undefined;
    }
    session.identify(principal, principal.credential.expiresAtMs);
    if (admission.rightsRead !== rightsRead) revocation.check(session);
    return { expires_at: expiryShown(principal) };
  }

  async #subscribe(
    session: Session,
    frame: CommandFrame<'subscribe'>,
    sent: CommandFrame<'subscribe'>,
  ): Promise<void> {
    const { conversation_id: id, after_sequence: after } = frame;
    const resuming = session.subscription(id);
    if (resuming?.state === 'resuming') await resuming.replay;
    const known = session.subscription(id);
    if (known !== undefined) {
      this.#subscribeAgain(session, known, frame, ownIdOf(sent, session.version));
      return;
    }

    const subscription: SocketSubscription = { headSequence: 0, fromSequence: 0, state: 'joining' };
    try {
      const joined = await this.#join(session, id, subscription, after);
      if (session.closed) return;
      subscription.headSequence = joined.headSequence;
      subscription.fromSequence = after ?? joined.headSequence;
      subscription.state = 'replaying';
      this.#options.metrics.subscriptions.inc({ op: 'subscribe', outcome: 'accepted' });
      this.#reply<'subscribe'>(session, frame.id, {
        conversation_id: id,
        ...ownIdOf(sent, session.version),
        head_sequence: joined.headSequence,
      });
      // Not awaited, so that a long replay delays no other request of the socket.
      subscription.replay = joined
        .run()
        .then(() => session.replayed(id, subscription))
        .catch((error) => this.#failed(session, error, frame));
    } catch (error) {
      if (session.subscription(id) === subscription) session.removeSubscription(id);
      const refusal = this.#toApiError(session, error, frame);
      this.#options.metrics.subscriptions.inc({ op: 'subscribe', outcome: refusal.condition });
      this.#refuse(session, frame.id, refusal);
    }
  }

  /**
   * Registers the session for changes of the right before reading the right, and returns only if
   * the subscription is still registered after the last await.
   */
  async #join(
    session: Session,
    id: string,
    subscription: SocketSubscription,
    after: number | undefined,
  ): Promise<Joined> {
    const { directory, streams, heartbeatCursors, limits } = this.#options;
    const limit = limits.subscriptions;
    const { principal } = session;
    if (principal === undefined) throw notFound('conversation', 'conversation_id');
    if (!principal.customer) requirePermission(principal, 'messaging:read');
    if (session.subscriptionCount >= limit) {
      throw tooManySubscriptions(limit, session.subscriptionCount);
    }
    heartbeatCursors.hold(session);
    session.addSubscription(id, subscription);
    const facts = await directory.facts(id);
    requirePresent(session.principal ?? principal, facts, 'conversation_id');
    if (facts === undefined || !mayFollow(session.principal ?? principal, facts))
      throw notFound('conversation', 'conversation_id');
    if (session.closed) throw notFound('conversation', 'conversation_id');
    const joined = await streams.join(id, session, after);
    if (session.subscription(id) !== subscription) throw notFound('conversation', 'conversation_id');
    return joined;
  }

  async #resume(session: Session, frame: CommandFrame<'resume'>): Promise<void> {
    const { resume } = this.#options;
    await resume.running(session);
    try {
      const resumption = resume.accept(session, frame);
      this.#options.metrics.subscriptions.inc({ op: 'resume', outcome: 'accepted' });
      this.#reply<'resume'>(session, frame.id, {});
      // Not awaited, as replays are not.
      resume.run(session, resumption).catch((error) => this.#failed(session, error, frame));
    } catch (thrown) {
      const error = this.#toApiError(session, thrown, frame);
      this.#options.metrics.subscriptions.inc({ op: 'resume', outcome: error.condition });
      this.#refuse(session, frame.id, error);
      if (error.param === 'cursor') session.close('cursor_invalid');
    }
  }

  /** Repeats the first answer. Messages are never sent twice on one socket. */
  #subscribeAgain(
    session: Session,
    { headSequence, fromSequence, state }: SocketSubscription,
    frame: CommandFrame<'subscribe'>,
    ownId: Pick<CommandResult<'subscribe'>, 'external_id'>,
  ): void {
    const { conversation_id: id, after_sequence: after = fromSequence } = frame;
    if (after < fromSequence) {
      const message = `The socket is subscribed after ${fromSequence}. Unsubscribe first to get earlier messages.`;
      const refusal = new ApiError('resource_conflict', message, { param: 'after_sequence' });
      this.#refuse(session, frame.id, refusal);
      return;
    }
    const result = { conversation_id: id, ...ownId, head_sequence: headSequence };
    this.#reply<'subscribe'>(session, frame.id, result);
    if (state === 'live')
      session.sendFrame({ type: 'caught_up', conversation_id: id, sequence: headSequence });
  }

  #unsubscribe(
    session: Session,
    { conversation_id: id }: CommandFrame<'unsubscribe'>,
  ): CommandResult<'unsubscribe'> {
    if (session.removeSubscription(id)) this.#options.streams.leave(id, session);
    return {};
  }

  #pong(session: Session, id: string): undefined {
    session.sendFrame({ type: 'pong', id, t: Date.now() });
  }

  /** Replies with the result of `working`, unless it is undefined because the socket is closing. */
  async #answer(session: Session, frame: AnyFrame, working: Promise<object | undefined>): Promise<void> {
    try {
      const result = await working;
      if (result !== undefined) this.#reply(session, frame.id, result);
    } catch (error) {
      this.#refuse(session, frame.id, this.#toApiError(session, error, frame));
    }
  }

  #reply<O extends Op>(session: Session, id: string, result: NonNullable<CommandResult<O>>): undefined {
    const frame: ReplyFrame = { type: 'reply', id, ok: true, result };
    session.send(Buffer.from(JSON.stringify(frame)));
  }

  /** Replies with the error object of REST: its envelope ends the frame. */
  #refuse(session: Session, id: string | null, error: ApiError, retryAfterMs = retryAfterOf(error)): void {
    const envelope = this.#options.failures.toBody(error);
    const start = `{"type":"reply","id":${JSON.stringify(id)},"ok":false,`;
    const saysWhen = retryAfterMs !== undefined && covers(session.version, RETRY_AFTER_SINCE);
    const when = saysWhen ? `"retry_after_ms":${retryAfterMs},` : '';
    session.send(Buffer.from(start + when + envelope.slice('{'.length)));
  }

  #fault(session: Session, id: string | null, error: ApiError): undefined {
    this.#refuse(session, id, error);
    session.countFault();
  }

  #closeFor(session: Session, error: ApiError): void {
    const reason = REASONS[error.condition] ?? (error.status >= 500 ? 'overloaded' : 'credentials_revoked');
    const mustWait = reason === 'overloaded' || reason === 'rate_limited';
    session.close(reason, mustWait ? { retryAfterMs: retryAfterOf(error) ?? RETRY_MS } : undefined);
  }

  #toApiError(session: Session, thrown: unknown, frame?: AnyFrame): ApiError {
    const error = this.#options.failures.map(thrown);
    // Below 500 nothing is logged, so no logger is made.
    if (error.status >= 500) logFailure(session.log, error, contextOf(session, frame));
    return error;
  }
}

/** Returns the fields of a log line about a request; the logger has the connection. */
function contextOf({ principal }: Session, frame: AnyFrame | undefined): object {
  return { actor_id: principal?.actor.id, op: frame?.type, frame_id: frame?.id };
}

/** Close reasons of a failed `authenticate` or post-upgrade handshake; others are 4202. */
const REASONS: { readonly [condition in ApiError['condition']]?: CloseReason } = {
  api_version_required: 'version_unsupported',
  api_version_invalid: 'version_unsupported',
  api_version_too_old: 'version_unsupported',
  account_in_other_cell: 'account_moved',
  payment_required: 'forbidden',
  limit_exceeded: 'rate_limited',
  rate_limit_exceeded: 'rate_limited',
};

const RETRY_MS = 1_000;

/** Returns message and field for a value that neither the handshake nor the frame has. */
function inFrame(field: 'version' | 'account'): [missing: string, param: string] {
  const message = `The field ${field} of the authenticate frame is missing: the handshake did not name it either.`;
  return [message, field];
}

const NAMED_OTHERWISE = 'The handshake named a different value.';

function tooFast({ requestsPerSecond }: Pick<SocketLimits, 'requestsPerSecond'>, waitMs: number): ApiError {
  const message = `A socket may send ${requestsPerSecond} requests in a second. Try again in ${waitMs} ms.`;
  return new ApiError('rate_limit_exceeded', message);
}

function retryAfterOf({ retryAfterS }: ApiError): number | undefined {
  return retryAfterS === undefined ? undefined : retryAfterS * 1_000;
}
