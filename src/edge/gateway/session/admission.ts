import { ApiError } from '@parley/protocol/errors/errors.ts';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Cursors } from '../changes/cursors.ts';
import type { NodeOptions } from '../options.ts';
import type { Fanout } from '../stream/fanout.ts';
import type { Streams } from '../stream/streams.ts';
import { mayHaveFeed, type Revocation } from './revocation.ts';
import type { Session } from './session.ts';
import type { Sessions } from './sessions.ts';

export interface AdmissionOptions extends Pick<NodeOptions, 'limits' | 'siblings'> {
  readonly cursors: Pick<Cursors, 'current'>;
  readonly sessions: Sessions<Session>;
  readonly streams: Pick<Streams, 'joinFeed' | 'leaveFeed'>;
  readonly fanout: Pick<Fanout, 'addForm'>;
  readonly revocation: Pick<Revocation, 'changes' | 'check'>;
  /** Notes the sockets of customers (presence/presence-record.ts). */
  readonly record: { declare(socket: object, actorId: string, status: 'online'): void };
}

/** Makes a session with a known caller `ready`, however the caller became known. */
export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Must be read before the credential, and given to `admit`. */
  get rightsRead(): number {
    return this.#options.revocation.changes;
  }

  /**
   * Throws ApiError `limit_exceeded`. Counts the sockets of this node and its siblings, except
   * `leaving` ones.
   */
  requireRoom(actorId: string, leaving = 0): void {
    const { sessions, limits, siblings } = this.#options;
    const limit = limits.socketsPerActor;
    const used = (siblings?.isFull(actorId) ? limit : sessions.countOf(actorId)) - leaving;
    if (used < limit) return;
    throw new ApiError(
      'limit_exceeded',
      `An actor can have at most ${limit} open sockets. Close one first.`,
      {
        quota: { limit, used, reset_at: null },
        retryAfterS: 30,
      },
    );
  }

  /**
   * Sends `ready`, then the feed's events; does nothing once the session has closed. Without
   * `rightsRead` the caller's rights are read again. Throws ApiError: `limit_exceeded`, or
   * `service_unavailable` while the engine is unavailable.
   */
  async admit(session: Session, principal: Principal, rightsRead?: number, leaving = 0): Promise<void> {
    const { streams, fanout, revocation, cursors, record } = this.#options;
    this.requireRoom(principal.actor.id, leaving);
    const { expiresAtMs } = principal.credential;
    session.identify(principal, expiresAtMs);
    // No answer is mailed to a customer with an open socket (core/accounts/people/people.ts).
    if (principal.customer) record.declare(session, principal.actor.id, 'online');
    fanout.addForm(session);
    if (revocation.changes !== rightsRead) revocation.check(session);
    if (mayHaveFeed(principal)) {
      session.hasFeed = true;
      // Without an `await`, `ready` leaves with the answer to the upgrade.
      const joining = streams.joinFeed(principal.actor.id, session);
      if (joining !== undefined) await joining;
    }
    session.becomeReady({
      type: 'ready',
      actor: principal.actor,
      account_id: principal.accountId,
      cursor: cursors.current(),
      expires_at: expiryShown(principal),
    });
  }
}

/** Returns the expiry to show; null for keys (docs/realtime.md#opening). */
export function expiryShown({ credential }: Principal): string | null {
  const { kind, expiresAtMs } = credential;
  return kind === 'api_key' || expiresAtMs === null ? null : wireTime(expiresAtMs);
}
