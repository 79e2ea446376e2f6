import type { Authenticator } from '../../access/authenticate.ts';
import { requireAccount, requirePermission, requireSubscription } from '../../access/authorize.ts';
import type { Principal } from '../../access/principal.ts';
import type { ConversationDirectory } from '../../conversations/directory.ts';
import type { ErrorMapper } from '../../http/failure.ts';
import { requireVersion } from '../../http/request-run.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { ApiError, notFound } from '../../protocol/errors.ts';
import type { CloseReason } from '../../protocol/socket/close-codes.ts';
import type { CommandFrame, CommandResult, Op } from '../../protocol/socket/commands.ts';
import type { ReplyFrame } from '../../protocol/socket/server-frames.ts';
import type { SocketLimits } from '../../protocol/socket/socket-limits.ts';
import { SOCKETS_SINCE } from '../../protocol/versions.ts';
import type { HeartbeatCursors } from '../catch-up/heartbeat-cursor.ts';
import type { Resume } from '../catch-up/resume.ts';
import type { Activity } from '../presence/activity.ts';
import { topics } from '../stream/reader.ts';
import type { Joined, Streams } from '../stream/streams.ts';
import { type Admission, expiryShown } from './admission.ts';
import { type Request, readRequest } from './requests.ts';
import { mayFollow, type Revocation } from './revocation.ts';
import type { Session } from './session.ts';
import { type SocketSubscription, tooManySubscriptions } from './subscription.ts';

export interface CommandsOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly directory: Pick<ConversationDirectory, 'facts'>;
  readonly streams: Pick<Streams, 'join' | 'leave'>;
  readonly admission: Admission;
  readonly revocation: Pick<Revocation, 'check'>;
  readonly activity: Activity;
  readonly resume: Resume;
  readonly heldCursors: HeartbeatCursors;
  readonly limits: Pick<SocketLimits, 'subscriptions'>;
  readonly failures: ErrorMapper;
  readonly metrics: Pick<Metrics, 'subscriptions'>;
  readonly log: Logger;
}

/**
 * What clients ask over their sockets (realtime.md section 2). Requests of one socket are answered in
 * the order in which they came, one after the other, but for `ping`, which is answered at once: it asks
 * whether the server is there, not whether Postgres is. No error ends the socket by itself; frames that
 * are malformed or out of place, and requests over the rate, are counted (session.ts).
 */
export class Commands {
  readonly #options: CommandsOptions;
  /** Of the sessions that something is being done for: what they asked meanwhile. */
  readonly #waiting = new Map<Session, Request[]>();

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /** One text frame. Its bytes are used before this returns. */
  receive(session: Session, bytes: ArrayBuffer): void {
    if (session.closed) return;
    const within = session.takeRequest();
    const request = readRequest(Buffer.from(bytes).toString());
    if (request === 'pong') session.pong();
    else if (!within) this.#refuse(session, request.id, tooFast());
    else this.#take(session, request);
    if (!within) session.countRefusal();
  }

  /** Now, or behind what is under way. */
  #take(session: Session, request: Request): void {
    if (request.frame?.type === 'ping' && session.ready) {
      this.#pong(session, request.frame.id);
      return;
    }
    const waiting = this.#waiting.get(session);
    if (waiting === undefined) this.#run(session, this.#handle(session, request));
    else waiting.push(request);
  }

  /** Makes a session whose handshake said who it is ready, before anything that it asks is looked at. */
  admit(session: Session, principal: Principal, rightsRead: number): void {
    const admitting = this.#options.admission.admit(session, principal, rightsRead);
    this.#run(
      session,
      admitting.catch((error) => this.#closeFor(session, this.#toApiError(error))),
    );
  }

  /** What comes meanwhile waits for `work`; undefined: it is done already. */
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

  /** Nothing above throws; if it does, the client is to come back rather than wait for ever. */
  #failed(session: Session, error: unknown): void {
    this.#waiting.delete(session);
    this.#options.log.error({ err: error }, 'a socket command failed');
    session.close('overloaded', { retryAfterMs: RETRY_MS });
  }

  #handle(session: Session, { id, op, frame, error }: Request): Promise<void> | undefined {
    if (frame?.type === 'authenticate') return this.#authenticate(session, frame);
    const early = op !== undefined && op !== 'authenticate' && !session.ready;
    if (early) return this.#fault(session, id, notYetKnown());
    if (frame === undefined) return this.#fault(session, id, error);
    switch (frame.type) {
      case 'refresh':
        return this.#answer(session, frame.id, this.#refresh(session, frame));
      case 'subscribe':
        return this.#subscribe(session, frame);
      case 'resume':
        return this.#resume(session, frame);
      case 'unsubscribe':
        return this.#reply(session, frame.id, this.#unsubscribe(session, frame));
      case 'typing':
        return this.#answer(session, frame.id, this.#options.activity.type(session, frame));
      case 'mark_read':
        return this.#answer(session, frame.id, this.#options.activity.markRead(session, frame));
      case 'presence':
        return this.#answer(session, frame.id, this.#options.activity.declare(session, frame));
      case 'ping':
        return this.#pong(session, frame.id);
    }
  }

  async #authenticate(session: Session, frame: CommandFrame<'authenticate'>): Promise<void> {
    const { authenticator, admission } = this.#options;
    try {
      if (session.principal !== undefined) {
        this.#refuse(session, frame.id, alreadyKnown());
        return;
      }
      const version = requireVersion(
        agreed('version', session.handshake?.version, frame.version),
        SOCKETS_SINCE,
        ...inFrame('version'),
      );
      const account = agreed('account', session.handshake?.account, frame.account);
      const { rightsRead } = admission;
      const principal = await authenticator.authenticate(`Bearer ${frame.token}`);
      requireAccount(principal, account, ...inFrame('account'));
      requireSubscription(principal);
      if (session.closed) return;
      session.version = version;
      await admission.admit(session, principal, rightsRead);
    } catch (thrown) {
      const error = this.#toApiError(thrown);
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
    const principal = await authenticator.authenticate(`Bearer ${token}`);
    if (session.closed) return undefined;
    if (principal.actor.id !== session.principal?.actor.id) {
      session.close('subject_changed');
      return undefined;
    }
    session.identify(principal, principal.credential.expiresAtMs);
    if (admission.rightsRead !== rightsRead) revocation.check(session);
    return { expires_at: expiryShown(principal) };
  }

  async #subscribe(session: Session, frame: CommandFrame<'subscribe'>): Promise<void> {
    const { conversation_id: id, after_sequence: after } = frame;
    const resuming = session.subscription(id);
    if (resuming?.state === 'resuming') await resuming.replay;
    const known = session.subscription(id);
    if (known !== undefined) {
      this.#subscribeAgain(session, known, frame);
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
        head_sequence: joined.headSequence,
      });
      // Not awaited: a long replay holds up neither the socket's other requests nor their replies.
      subscription.replay = this.#replay(session, id, subscription, joined).catch((error) =>
        this.#failed(session, error),
      );
    } catch (error) {
      if (session.subscription(id) === subscription) session.removeSubscription(id);
      const refusal = this.#toApiError(error);
      this.#options.metrics.subscriptions.inc({ op: 'subscribe', outcome: refusal.condition });
      this.#refuse(session, frame.id, refusal);
    }
  }

  /** Registered for changes of the right before the right is read, and still there behind the last await. */
  async #join(
    session: Session,
    id: string,
    subscription: SocketSubscription,
    after: number | undefined,
  ): Promise<Joined> {
    const { directory, streams, heldCursors, limits } = this.#options;
    const limit = limits.subscriptions;
    const { principal } = session;
    if (principal === undefined) throw notFound('conversation', 'conversation_id');
    if (!principal.customer) requirePermission(principal, 'messaging:read');
    if (session.subscriptionCount >= limit) {
      throw tooManySubscriptions(limit, session.subscriptionCount);
    }
    heldCursors.hold(session);
    session.addSubscription(id, subscription);
    const facts = await directory.facts(id);
    if (facts === undefined || !mayFollow(session.principal ?? principal, facts))
      throw notFound('conversation', 'conversation_id');
    if (session.closed) throw notFound('conversation', 'conversation_id');
    const joined = await streams.join(id, session, after);
    if (session.subscription(id) !== subscription) throw notFound('conversation', 'conversation_id');
    return joined;
  }

  async #replay(
    session: Session,
    id: string,
    subscription: SocketSubscription,
    joined: Joined,
  ): Promise<void> {
    await joined.run();
    if (session.subscription(id) !== subscription || session.closed) return;
    // A reader that got `resync` is not put on the topic: it may subscribe again.
    if (session.isOn(topics.durable(id, session))) subscription.state = 'live';
    else session.removeSubscription(id);
  }

  async #resume(session: Session, frame: CommandFrame<'resume'>): Promise<void> {
    const { resume } = this.#options;
    await resume.running(session);
    try {
      const resumption = resume.accept(session, frame);
      this.#options.metrics.subscriptions.inc({ op: 'resume', outcome: 'accepted' });
      this.#reply<'resume'>(session, frame.id, {});
      // Not awaited, as replays are not.
      resume.run(session, resumption).catch((error) => this.#failed(session, error));
    } catch (thrown) {
      const error = this.#toApiError(thrown);
      this.#options.metrics.subscriptions.inc({ op: 'resume', outcome: error.condition });
      this.#refuse(session, frame.id, error);
      if (error.param === 'cursor') session.close('cursor_invalid');
    }
  }

  /** The same answer as the first time. What was sent is not sent again on this socket. */
  #subscribeAgain(
    session: Session,
    { headSequence, fromSequence, state }: SocketSubscription,
    frame: CommandFrame<'subscribe'>,
  ): void {
    const { conversation_id: id, after_sequence: after = fromSequence } = frame;
    if (after < fromSequence) {
      this.#refuse(session, frame.id, alreadyFurther(fromSequence));
      return;
    }
    this.#reply<'subscribe'>(session, frame.id, { conversation_id: id, head_sequence: headSequence });
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

  /** Replies with what comes out; undefined: with nothing, for the socket is closing. */
  async #answer(session: Session, id: string, working: Promise<object | undefined>): Promise<void> {
    try {
      const result = await working;
      if (result !== undefined) this.#reply(session, id, result);
    } catch (error) {
      this.#refuse(session, id, this.#toApiError(error));
    }
  }

  #reply<O extends Op>(session: Session, id: string, result: NonNullable<CommandResult<O>>): undefined {
    const frame: ReplyFrame = { type: 'reply', id, ok: true, result };
    session.send(Buffer.from(JSON.stringify(frame)));
  }

  /** With the very error object of REST: the envelope is the end of the frame. */
  #refuse(session: Session, id: string | null, error: ApiError): void {
    const envelope = this.#options.failures.toBody(error);
    const start = `{"type":"reply","id":${JSON.stringify(id)},"ok":false,`;
    session.send(Buffer.from(start + envelope.slice('{'.length)));
  }

  #fault(session: Session, id: string | null, error: ApiError): undefined {
    this.#refuse(session, id, error);
    session.countFault();
  }

  #closeFor(session: Session, error: ApiError): void {
    const reason = REASONS[error.condition] ?? (error.status >= 500 ? 'overloaded' : 'credentials_revoked');
    const retryAfterMs = error.retryAfterS === undefined ? RETRY_MS : error.retryAfterS * 1_000;
    session.close(
      reason,
      reason === 'overloaded' || reason === 'rate_limited' ? { retryAfterMs } : undefined,
    );
  }

  #toApiError(thrown: unknown): ApiError {
    return this.#options.failures.toApiError(thrown, { during: 'a socket command' });
  }
}

/** What an `authenticate` that failed, or a handshake that failed behind the upgrade, closes with; others with 4202. */
const REASONS: { readonly [condition in ApiError['condition']]?: CloseReason } = {
  api_version_required: 'version_unsupported',
  api_version_invalid: 'version_unsupported',
  api_version_too_old: 'version_unsupported',
  payment_required: 'forbidden',
  limit_exceeded: 'rate_limited',
  rate_limit_exceeded: 'rate_limited',
};

const RETRY_MS = 1_000;

/** What is said of a field that neither the handshake nor the frame has, and the field. */
function inFrame(field: 'version' | 'account'): [missing: string, param: string] {
  const message = `The field ${field} of the authenticate frame is missing: the handshake did not name it either.`;
  return [message, field];
}

/** Of what the handshake said and what the frame says. */
function agreed(
  param: string,
  fromHandshake: string | undefined,
  fromFrame: string | undefined,
): string | undefined {
  if (fromHandshake === undefined || fromFrame === undefined || fromHandshake === fromFrame) {
    return fromHandshake ?? fromFrame;
  }
  throw new ApiError('parameters_exclusive', 'The handshake had another value.', { param });
}

function tooFast(): ApiError {
  return new ApiError('rate_limit_exceeded', 'Too many requests at once.');
}

function notYetKnown(): ApiError {
  return new ApiError(
    'invalid_credentials',
    'The caller is not known yet: send an authenticate frame first.',
  );
}

function alreadyKnown(): ApiError {
  return new ApiError('resource_conflict', 'The caller is known: use refresh for a newer token.');
}

function alreadyFurther(fromSequence: number): ApiError {
  return new ApiError(
    'resource_conflict',
    `Already subscribed after ${fromSequence}: unsubscribe first to get earlier messages.`,
    { param: 'after_sequence' },
  );
}
