import { CLOSE_CODES, type CloseReason } from '@parley/protocol/socket/close-codes.ts';
import type { Random } from '../../../../test/support/random.ts';
import type { Transport } from '../../index.ts';
import { MOST_ASKED_MS, type Session } from './model-gateway.ts';
import type { ModelNetwork, Passage } from './model-network.ts';

export interface FaultsGiven {
  readonly random: Random;
  readonly network: ModelNetwork;
  readonly ways: readonly Transport[];
  /** Whether the client can get another token. */
  readonly isRenewable: boolean;
  /** Whether the network blocks sockets, and nodes stop more often than elsewhere. */
  readonly isBlocked: boolean;
  /** Acts of the application. */
  readonly application: { wake(): void; subscribe(): void; unsubscribe(): void };
  log(line: string): void;
}

/** The faults of one history, as chance has them, and what the application does meanwhile. */
export class LinkFaults {
  /** How the application answers when it is asked for a token. */
  token: 'at once' | 'late' | 'never' | 'failing' = 'at once';
  /** How it answers when it is asked for the URL. */
  url: 'at once' | 'failing' = 'at once';
  /** Whether there was one after which a client may end. */
  isFatal = false;
  readonly #given: FaultsGiven;
  readonly #network: ModelNetwork;
  readonly #random: Random;

  constructor(given: FaultsGiven) {
    this.#given = given;
    this.#network = given.network;
    this.#random = given.random;
    if (given.isBlocked) given.network.passages.websocket = this.#random.pick(['refused', 'mute']);
  }

  /** Does something to the network, to servers, or as the application. */
  act(): void {
    const { conduct } = this.#network.gateway;
    const { passages } = this.#network;
    const { application, isRenewable, isBlocked, ways } = this.#given;
    const { time } = this.#network;
    const sessions = [...this.#network.gateway.sessions].filter(({ token }) => token !== '');
    const session = sessions.length > 0 ? this.#random.pick(sessions) : undefined;
    const kind = isBlocked && this.#chance(0.4) ? 'goaway' : this.#random.pick(ACTS);
    this.#given.log(`-- ${kind}`);
    switch (kind) {
      case 'post':
        for (let n = this.#random.below(4); n >= 0; n--)
          this.#network.gateway.post(this.#random.pick(CONVERSATIONS));
        return;
      case 'cut':
        for (const channel of this.#network.open) if (this.#chance(0.7)) channel.cut(this.#chance(0.4));
        return;
      case 'close': {
        const why = this.#random.pick(CLOSES);
        conduct.retryAfterMs = this.#random.below(MOST_ASKED_MS);
        const { next } = CLOSE_CODES[why];
        if (next === 'stop' && !this.#chance(0.1)) return;
        if (session !== undefined && (next === 'stop' || (next === 'authenticate' && !isRenewable))) {
          this.isFatal = true;
        }
        session?.close(why);
        return;
      }
      case 'goaway':
        for (const one of sessions) this.goAway(one);
        if (this.#chance(0.3)) for (const one of sessions) this.goAway(one);
        for (const transport of ways) {
          if (this.#chance(0.4)) passages[transport] = this.#random.pick(PASSAGES);
        }
        return;
      case 'block':
        for (const transport of ways) passages[transport] = this.#random.pick(PASSAGES);
        passages.rest = this.#random.pick(PASSAGES);
        return;
      case 'unblock':
        for (const transport of ways) if (this.#chance(0.6)) passages[transport] = 'passed';
        return;
      case 'slow':
        this.#network.openingMs = this.#random.pick([40, 3_000, 12_000]);
        return;
      case 'refuse':
        conduct.refusal = this.#random.pick(['rate_limited', 'overloaded', 'going_away', undefined]);
        conduct.retryAfterMs = this.#random.below(MOST_ASKED_MS);
        return;
      case 'resume':
        conduct.resume = this.#random.pick(['transient', 'unknown', 'cursor_invalid', 'too_many']);
        if (this.#chance(0.7)) for (const channel of this.#network.open) channel.cut(false);
        return;
      case 'token':
        this.token = this.#random.pick(['at once', 'late', 'never', 'failing']);
        return;
      case 'strict':
        if (!isRenewable && !this.#chance(0.2)) return;
        conduct.isStrict = this.#chance(0.5);
        if (!isRenewable && conduct.isStrict) this.isFatal = true;
        return;
      case 'expire':
        if (isRenewable) for (const { token } of sessions) this.#network.gateway.expire(token);
        return;
      case 'url':
        this.url = this.#chance(0.5) ? 'failing' : 'at once';
        return;
      case 'forbid':
        // Fatal unless another connection lasts.
        this.#network.isForbidden = this.#chance(0.3);
        if (this.#network.isForbidden) this.isFatal = true;
        return;
      case 'deaf':
        if (session !== undefined) session.isDeaf = true;
        return;
      case 'garble':
        session?.send({ type: 'garbled' });
        return;
      case 'sleep':
        this.#sleep(this.#random.pick([500, 20_000, 120_000, 3_600_000]));
        return;
      case 'wake':
        time.arrive(0, () => application.wake());
        return;
      case 'subscribe':
        time.arrive(0, () => application.subscribe());
        return;
      case 'unsubscribe':
        time.arrive(0, () => application.unsubscribe());
    }
  }

  #sleep(ms: number): void {
    this.#network.time.sleep(ms);
    // The server waits for the answer to a heartbeat.
    this.#network.time.happen(Math.min(ms, HEARTBEATS_MS), () => {
      const isGone = ms > HEARTBEATS_MS || this.#chance(0.3);
      for (const one of isGone ? [...this.#network.gateway.sessions] : []) one.close('heartbeat_timeout');
    });
  }

  goAway(session: Session): void {
    const deadline_ms = 1 + this.#random.below(10_000);
    session.send({
      type: 'goaway',
      reconnect_in_ms: this.#random.below(5_000),
      deadline_ms,
      reason: 'stopping',
    });
    if (this.#chance(0.7)) this.#network.time.happen(deadline_ms, () => session.close('going_away'));
  }

  /** Ends all of them. */
  calm(): void {
    this.#given.log('-- calm');
    Object.assign(this.#network.passages, {
      websocket: 'passed',
      stream: 'passed',
      poll: 'passed',
      rest: 'passed',
    });
    Object.assign(this.#network.gateway.conduct, { refusal: undefined, resume: 'taken', isStrict: false });
    this.#network.openingMs = 40;
    this.#network.isForbidden = false;
    this.token = 'at once';
    this.url = 'at once';
    for (const id of CONVERSATIONS) this.#network.gateway.post(id);
  }

  #chance(of: number): boolean {
    return this.#random.next() < of;
  }
}

const ACTS = [
  'post',
  'post',
  'post',
  'cut',
  'cut',
  'close',
  'close',
  'goaway',
  'goaway',
  'block',
  'unblock',
  'slow',
  'refuse',
  'resume',
  'token',
  'strict',
  'expire',
  'url',
  'forbid',
  'deaf',
  'garble',
  'sleep',
  'wake',
  'wake',
  'subscribe',
  'unsubscribe',
] as const;

const PASSAGES: readonly Passage[] = ['passed', 'passed', 'passed', 'refused', 'mute', 'cut'];
const CLOSES = Object.keys(CLOSE_CODES) as CloseReason[];
export const CONVERSATIONS = ['cnv_1', 'cnv_2', 'cnv_3'] as const;
/** How long a server waits for the answer to a heartbeat, and a client for one, in milliseconds. */
export const HEARTBEATS_MS = 35_000;
