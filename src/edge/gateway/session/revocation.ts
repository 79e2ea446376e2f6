import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { CloseReason } from '@parley/protocol/socket/close-codes.ts';
import { hasPermission } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { EVERYTHING } from '../../../api/access/rights.ts';
import { isGone, mayRead } from '../../../core/conversations/directory/access.ts';
import type { ConversationFacts } from '../../../core/conversations/directory/directory.ts';
import { deletedEvent } from '../../../core/conversations/events.ts';
import { toFrame } from '../../../core/frames/publish.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import type { NodeOptions } from '../options.ts';
import { bytesFor } from '../stream/forms.ts';
import type { Streams } from '../stream/streams.ts';
import type { Session } from './session.ts';
import type { Sessions } from './sessions.ts';

export interface RevocationOptions
  extends Pick<NodeOptions, 'rights' | 'authenticator' | 'directory' | 'log'> {
  readonly streams: Pick<Streams, 'leave' | 'review' | 'joinFeed' | 'leaveFeed'>;
  readonly sessions: Sessions<Session>;
}

/** Returns whether the caller may follow a conversation: if it may read it over REST. */
export function mayFollow(principal: Principal, facts: ConversationFacts): boolean {
  return mayRead(principal, facts) && mayHaveFeed(principal);
}

/** Returns whether the caller may read messages, as the feed shows them. Customers have no role. */
export function mayHaveFeed(principal: Principal): boolean {
  return principal.customer || hasPermission(principal, 'messaging:read');
}

/**
 * Keeps open sockets to the rights of their callers (docs/architecture.md#rights-that-end): when a
 * right changes, on any node, sessions that depend on it are checked and lose what is gone. They
 * register under a subject before their right is read, so that no change falls in between.
 */
export class Revocation {
  readonly #options: RevocationOptions;
  readonly #stopListening: () => void;
  readonly #loop: Loop;
  /** Checks due by session: one conversation or everything. Checks that a change named go first. */
  readonly #due = new Map<Session, string>();
  readonly #swept = new Map<Session, string>();
  /** Sessions whose rights could not be read. */
  readonly #undecided = new Map<Session, string>();
  #running: Promise<void> | undefined;
  #changes = 0;

  constructor(options: RevocationOptions) {
    this.#options = options;
    this.#stopListening = options.rights.onChange((subject) => this.#changed(subject));
    this.#loop = new Loop({
      intervalMs: UNHEALTHY_SWEEP_MS,
      run: async () => this.#repeat(),
      onError: (error) => options.log.error({ err: error }, 'checking rights of sockets failed'),
    });
  }

  /**
   * Grows with every change. If it grew since a right was read before the session was registered,
   * the session must be checked.
   */
  get changes(): number {
    return this.#changes;
  }

  /** Schedules a check of all rights of the session. */
  check(session: Session): void {
    this.#add(this.#due, session, EVERYTHING);
  }

  async close(): Promise<void> {
    this.#stopListening();
    this.#due.clear();
    this.#swept.clear();
    this.#undecided.clear();
    await this.#loop.close();
    await this.#running;
  }

  #changed(subject: string): void {
    this.#changes += 1;
    const { sessions } = this.#options;
    if (subject === EVERYTHING) {
      for (const session of sessions.all()) this.#add(this.#swept, session, EVERYTHING);
      return;
    }
    for (const session of sessions.of(subject)) {
      const isConversation = session.subscription(subject) !== undefined;
      this.#add(this.#due, session, isConversation ? subject : EVERYTHING);
    }
  }

  /** Checks all sessions again while the link is in doubt, as changes elsewhere may not arrive. */
  #repeat(): void {
    for (const [session, what] of this.#undecided) this.#add(this.#due, session, what);
    this.#undecided.clear();
    if (this.#options.rights.maxAgeMs <= UNHEALTHY_SWEEP_MS && this.#swept.size === 0) {
      for (const session of this.#options.sessions.all()) this.#add(this.#swept, session, EVERYTHING);
    }
  }

  #add(to: Map<Session, string>, session: Session, what: string): void {
    const already = to.get(session) ?? what;
    to.set(session, already === what ? what : EVERYTHING);
    this.#running ??= this.#run();
  }

  /** Runs the due checks, paced so that ten thousand sessions do not block the event loop. */
  async #run(): Promise<void> {
    // This turn's frames go first, and one change often names several subjects.
    await nextTurn();
    for (;;) {
      const batch = take(this.#due, BATCH);
      if (batch.length === 0) batch.push(...take(this.#swept, BATCH));
      if (batch.length === 0) break;
      await Promise.all(batch.map(([session, what]) => this.#check(session, what)));
      await nextTurn();
    }
    this.#running = undefined;
  }

  async #check(session: Session, what: string): Promise<void> {
    if (session.closed && session.heldBytes === 0) return;
    try {
      if (what === EVERYTHING) await this.#checkCaller(session);
      for (const conversationId of what === EVERYTHING ? [...session.conversationIds] : [what]) {
        const checked = this.#checkConversation(session, conversationId);
        if (checked !== undefined) await checked;
      }
    } catch (error) {
      // Postgres is unavailable. The change was acknowledged, so the check is repeated.
      this.#undecided.set(session, what);
      const actor_id = session.principal?.actor.id;
      session.log.warn({ err: error, actor_id }, 'could not read the rights of a socket');
    }
  }

  async #checkCaller(session: Session): Promise<void> {
    const { principal } = session;
    if (principal === undefined) return;
    const current = await this.#current(principal);
    // The token was replaced meanwhile, so the rights of the new one must be read.
    if (session.principal !== principal) this.check(session);
    else if (typeof current === 'string') session.revoke(current);
    else if (!current.subscribed) session.revoke('forbidden');
    else {
      session.identify(current, session.expiresAtMs);
      await this.#checkFeed(session, current);
    }
  }

  /**
   * Returns the caller with its present rights, or why it has none here. The session itself handles
   * the expiry.
   */
  async #current({ accountId, actor, credential }: Principal): Promise<Principal | CloseReason> {
    try {
      return await this.#options.authenticator.principalOf({
        accountId,
        actorId: actor.id,
        credential: { ...credential, expiresAtMs: null },
      });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return 'credentials_revoked';
      if (error instanceof ApiError && error.condition === 'account_in_other_cell') return 'account_moved';
      throw error;
    }
  }

  async #checkFeed(session: Session, principal: Principal): Promise<void> {
    const { streams } = this.#options;
    const allowed = mayHaveFeed(principal);
    if (session.hasFeed === allowed || !session.ready) return;
    session.hasFeed = allowed;
    if (!allowed) {
      streams.leaveFeed(principal.actor.id, session);
      if (session.heldBytes > 0) session.cut();
      return;
    }
    try {
      await streams.joinFeed(principal.actor.id, session);
    } catch (error) {
      session.hasFeed = false;
      throw error;
    }
  }

  /** Returns undefined if the facts are cached, which they nearly always are. */
  #checkConversation(session: Session, conversationId: string): Promise<void> | undefined {
    const facts = this.#options.directory.facts(conversationId);
    if (facts instanceof Promise) {
      return facts.then((read) => this.#decide(session, conversationId, read));
    }
    this.#decide(session, conversationId, facts);
    return undefined;
  }

  #decide(session: Session, conversationId: string, facts: ConversationFacts | undefined): void {
    const { principal } = session;
    const subscription = session.subscription(conversationId);
    if (principal === undefined || subscription === undefined) return;
    if (facts !== undefined && mayFollow(principal, facts)) {
      if (subscription.state === 'live') this.#options.streams.review(conversationId, session);
      return;
    }
    session.removeSubscription(conversationId);
    this.#options.streams.leave(conversationId, session);
    // Queued bytes may belong to this conversation and must not leave; the client resumes.
    if (session.heldBytes > 0) session.cut();
    // A subscribe that is still being decided is answered by its reply.
    else if (subscription.state !== 'joining') sendRevoked(session, conversationId, facts);
  }
}

/** Tells the client that its subscription ended: its conversation is forbidden or deleted. */
export function sendRevoked(
  session: Session,
  conversationId: string,
  facts: ConversationFacts | undefined,
): void {
  const { principal } = session;
  if (facts !== undefined && principal !== undefined && isGone(principal, facts)) {
    const bytes = bytesFor(toFrame(deletedEvent(conversationId, facts.deletedAt!)), session);
    if (bytes !== undefined) session.send(bytes);
  }
  session.sendFrame({ type: 'resync', conversation_id: conversationId, reason: 'revoked' });
}

const UNHEALTHY_SWEEP_MS = 1_000;
const BATCH = 64;

function take<K, V>(from: Map<K, V>, count: number): [K, V][] {
  const taken: [K, V][] = [];
  for (const entry of from) {
    if (taken.length === count) break;
    taken.push(entry);
    from.delete(entry[0]);
  }
  return taken;
}
