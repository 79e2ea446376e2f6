import { CLOSE_CODES, type CloseReason } from '@parley/protocol/socket/close-codes.ts';
import type { VirtualTime } from './virtual-time.ts';

const HEARTBEAT_MS = 25_000;
/** The longest wait that the model asks a client for, in milliseconds. */
export const MOST_ASKED_MS = 20_000;

/** How long before the end of a token a server says so, and how long behind it closes. */
const WARNED_MS = 60_000;
const EXPIRED_MS = 25_000;

/** The behaviour of the servers, which faults change. */
export interface Conduct {
  /** How new sessions end as soon as the caller is known. */
  refusal: CloseReason | undefined;
  /** Milliseconds that 41xx asks for. */
  retryAfterMs: number;
  resume: 'taken' | 'transient' | 'unknown' | 'cursor_invalid' | 'too_many';
  /** Whether every token is refused. */
  isStrict: boolean;
}

export type Frame = Readonly<Record<string, unknown>> & { readonly type: string };

/** The client's end of a session. */
export interface Line {
  send(frame: Frame): void;
  /** The client is told; a poll answers first. */
  end(code: number, reason: string): void;
}

/** Servers whose conversations are nothing but numbers, and the sessions on them. */
export class ModelGateway {
  readonly conduct: Conduct = { refusal: undefined, retryAfterMs: 0, resume: 'taken', isStrict: false };
  readonly sessions = new Set<Session>();
  readonly time: VirtualTime;
  readonly #heads = new Map<string, number>();
  /** When tokens expire, in the time of the model. */
  readonly #expiries = new Map<string, number>();
  #cursor = 0;

  constructor(time: VirtualTime) {
    this.time = time;
  }

  headOf(conversation: string): number {
    return this.#heads.get(conversation) ?? 0;
  }

  nextCursor(): string {
    return `cur_${++this.#cursor}`;
  }

  post(conversation: string): void {
    this.#heads.set(conversation, this.headOf(conversation) + 1);
    for (const session of [...this.sessions]) session.news(conversation);
  }

  /** Lets a token expire in a minute. */
  expire(token: string): void {
    this.#expiries.set(token, this.time.now + WARNED_MS);
    for (const session of this.sessions) if (session.token === token) session.expires();
  }

  isValid(token: string): boolean {
    return !this.conduct.isStrict && this.leftMs(token) > 0;
  }

  /** Milliseconds until the token expires. */
  leftMs(token: string): number {
    return (this.#expiries.get(token) ?? Number.POSITIVE_INFINITY) - this.time.now;
  }
}

/** One connection at the server: what it follows, and how far it was sent. */
export class Session {
  /** Its node gets no news of others any more, but its heartbeats name the heads. */
  isDeaf = false;
  isOver = false;
  token = '';
  readonly followed = new Map<string, number>();
  readonly #gateway: ModelGateway;
  readonly #line: Line;
  readonly #announced = new Map<string, number>();

  constructor(gateway: ModelGateway, line: Line) {
    this.#gateway = gateway;
    this.#line = line;
    gateway.sessions.add(this);
  }

  get heads(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.followed.keys()].map((id) => [id, this.#gateway.headOf(id)]));
  }

  hello(): void {
    const fields = { connection_id: '', server_time: '', max_frame_bytes: 65_536 };
    this.send({ type: 'hello', heartbeat_ms: HEARTBEAT_MS, ...fields });
  }

  /** Returns whether the session goes on. */
  ready(token: string): boolean {
    const { refusal } = this.#gateway.conduct;
    if (refusal !== undefined) {
      this.close(refusal);
      return false;
    }
    this.token = token;
    const cursor = this.#gateway.nextCursor();
    this.send({ type: 'ready', actor: { id: 'usr_1' }, account_id: 'acc_1', cursor, expires_at: null });
    this.expires();
    return true;
  }

  /** Warns a minute before the token expires, and closes some time after it. */
  expires(): void {
    const { token } = this;
    const { time } = this.#gateway;
    const leftMs = this.#gateway.leftMs(token);
    if (leftMs === Number.POSITIVE_INFINITY) return;
    const isSame = () => token === this.token;
    time.happen(leftMs - WARNED_MS, () => isSame() && this.send({ type: 'auth_expiring', expires_at: '' }));
    time.happen(leftMs + EXPIRED_MS, () => isSame() && this.close('token_expired'));
  }

  /** Sends a heartbeat now and ever after. */
  beat(): void {
    if (this.isOver) return;
    const moved = Object.entries(this.heads).filter(([id, head]) => this.#announced.get(id) !== head);
    for (const [id, head] of moved) this.#announced.set(id, head);
    const heads = Object.fromEntries(moved);
    this.send({ type: 'ping', t: this.#gateway.time.now, cursor: this.#gateway.nextCursor(), heads });
    this.#gateway.time.happen(HEARTBEAT_MS, () => this.beat());
  }

  receive(frame: Frame): void {
    if (this.isOver) return;
    const { type, id } = frame;
    switch (type) {
      case 'authenticate':
        if (this.#gateway.isValid(String(frame.token))) {
          if (this.ready(String(frame.token))) this.#gateway.time.happen(HEARTBEAT_MS, () => this.beat());
        } else {
          this.reply(id, false, 'invalid_credentials');
          this.close('credentials_revoked');
        }
        return;
      case 'refresh':
        if (this.#gateway.isValid(String(frame.token))) {
          this.token = String(frame.token);
          this.reply(id, true);
          this.expires();
        } else this.reply(id, false, 'invalid_credentials');
        return;
      case 'subscribe':
        this.subscribe(id, String(frame.conversation_id), frame.after_sequence as number | undefined);
        return;
      case 'unsubscribe':
        this.followed.delete(String(frame.conversation_id));
        this.reply(id, true);
        return;
      case 'resume':
        this.resume(id, frame.conversations as Readonly<Record<string, number>>);
        return;
      case 'pong':
        return;
      default:
        this.reply(id, true);
    }
  }

  subscribe(id: unknown, conversation: string, after?: number): void {
    const head = this.#gateway.headOf(conversation);
    this.reply(id, true, { conversation_id: conversation, head_sequence: head });
    this.catchUp(conversation, after ?? head);
  }

  /** Returns whether the session goes on. */
  resume(id: unknown, conversations: Readonly<Record<string, number>>): boolean {
    const { resume } = this.#gateway.conduct;
    // Such faults pass: the next resume is taken.
    this.#gateway.conduct.resume = 'taken';
    if (resume === 'cursor_invalid') {
      this.close('cursor_invalid');
      return false;
    }
    if (resume === 'transient' || resume === 'unknown') {
      this.reply(id, false, resume === 'unknown' ? 'validation_failed' : 'service_unavailable');
      return true;
    }
    this.isDeaf = false;
    this.reply(id, true);
    for (const [conversation, position] of Object.entries(conversations)) {
      if (resume === 'too_many') {
        const head = this.#gateway.headOf(conversation);
        const fields = { conversation_id: conversation, reason: 'too_many', head_sequence: head };
        this.send({ type: 'resync', ...fields });
      } else this.catchUp(conversation, position);
    }
    this.send({ type: 'resumed', cursor: this.#gateway.nextCursor() });
    return true;
  }

  catchUp(conversation: string, after: number): void {
    this.followed.set(conversation, after);
    const isDeaf = this.isDeaf;
    this.isDeaf = false;
    this.news(conversation);
    this.isDeaf = isDeaf;
    const sequence = this.#gateway.headOf(conversation);
    this.send({ type: 'caught_up', conversation_id: conversation, sequence });
  }

  news(conversation: string): void {
    const last = this.followed.get(conversation);
    if (last === undefined || this.isDeaf || this.isOver) return;
    const head = this.#gateway.headOf(conversation);
    for (let sequence = last + 1; sequence <= head; sequence++) this.send(messageOf(conversation, sequence));
    this.followed.set(conversation, Math.max(last, head));
  }

  reply(id: unknown, isOk: boolean, of: object | string = {}): void {
    if (isOk) this.send({ type: 'reply', id, ok: true, result: of });
    else this.send({ type: 'reply', id, ok: false, error: errorOf(String(of)) });
  }

  send(frame: Frame): void {
    if (!this.isOver) this.#line.send(frame);
  }

  close(why: CloseReason): void {
    const isWait = CLOSE_CODES[why].next === 'wait';
    const { retryAfterMs } = this.#gateway.conduct;
    this.end(CLOSE_CODES[why].code, isWait ? JSON.stringify({ retry_after_ms: retryAfterMs }) : why);
  }

  end(code: number, reason: string): void {
    if (this.isOver) return;
    this.forget();
    this.#line.end(code, reason);
  }

  forget(): void {
    this.isOver = true;
    this.#gateway.sessions.delete(this);
  }
}

export function messageOf(conversation: string, sequence: number): Frame {
  const at = `2026-11-21T06:00:00.${String(sequence).padStart(6, '0')}Z`;
  const data = { id: `msg_${sequence}`, sequence, body: '', streaming_state: null, updated_at: at };
  return { type: 'event', event: 'message.created', conversation_id: conversation, sequence, at, data };
}

export function errorOf(code: string): Readonly<Record<string, unknown>> {
  return { code, message: code, is_transient: /unavailable|rate_limit/.test(code), param: null };
}
