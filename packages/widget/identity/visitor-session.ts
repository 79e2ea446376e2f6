import type { Token } from '@parley/protocol/resources/token.ts';
import type { VisitorSession } from '@parley/protocol/resources/widget.ts';
import type { FrameStorage } from './frame-storage.ts';
import { call, Refused } from './widget-calls.ts';

interface Kept {
  readonly refresh_token: string;
  /** Repeats a refresh whose answer was lost, instead of using the token twice. */
  readonly refresh_key: string;
  /** Whether the visitor has confirmed an address. */
  readonly is_confirmed?: boolean;
}

/**
 * The session of an anonymous visitor, or of one with a confirmed address. All tabs of a site share
 * it: its refresh token, which works once, is used under a lock.
 */
export class Visitor {
  readonly #widgetId: string;
  readonly #storage: FrameStorage;
  readonly #key: string;
  #current: Pick<Token, 'access_token' | 'expires_at'> | undefined;

  constructor(widgetId: string, storage: FrameStorage) {
    this.#widgetId = widgetId;
    this.#storage = storage;
    this.#key = `parley-visitor-${widgetId}`;
  }

  /** Returns whether this browser has a session, which may have ended meanwhile. */
  get isKept(): boolean {
    return this.#read() !== undefined;
  }

  /** Returns whether the session is that of a confirmed address. */
  get isConfirmed(): boolean {
    return this.#read()?.is_confirmed === true;
  }

  /** Begins a session with the server, unless there is one. */
  async begin(): Promise<void> {
    await this.#locked(async () => {
      if (this.isKept) return;
      const path = `/v1/widgets/${encodeURIComponent(this.#widgetId)}/visitors`;
      this.keep(await call<VisitorSession>('POST', path));
    });
  }

  /** Takes over a session that the server has begun. */
  keep(
    { access_token, refresh_token, expires_at }: Omit<Token, 'object'>,
    is_confirmed: boolean = false,
  ): void {
    this.#current = { access_token, expires_at };
    const kept: Kept = { refresh_token, refresh_key: crypto.randomUUID(), is_confirmed };
    this.#storage.setItem(this.#key, JSON.stringify(kept));
  }

  /** Returns an access token that is valid for a while; null without a session. */
  accessToken({ isRefused = false } = {}): Promise<string | null> {
    return this.#locked(async () => {
      const kept = this.#read();
      if (kept === undefined) return null;
      const known = this.#current;
      if (!isRefused && known !== undefined && Date.parse(known.expires_at) - Date.now() > SPARE_MS)
        return known.access_token;
      try {
        const headers = { 'Idempotency-Key': kept.refresh_key };
        const body = { refresh_token: kept.refresh_token };
        this.keep(await call<Token>('POST', '/v1/auth/tokens/refresh', { body, headers }), kept.is_confirmed);
        return this.#current!.access_token;
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 401) throw error;
        this.drop();
        return null;
      }
    });
  }

  /** Forgets the session in this browser. */
  drop(): void {
    this.#current = undefined;
    this.#storage.removeItem(this.#key);
  }

  #read(): Kept | undefined {
    const text = this.#storage.getItem(this.#key);
    try {
      return text === null ? undefined : JSON.parse(text);
    } catch {
      return undefined;
    }
  }

  #locked<Result>(act: () => Promise<Result>): Promise<Result> {
    const { locks } = navigator;
    return locks === undefined ? act() : (locks.request(this.#key, act) as Promise<Result>);
  }
}

/** An access token lasts 15 minutes. */
const SPARE_MS = 60_000;
