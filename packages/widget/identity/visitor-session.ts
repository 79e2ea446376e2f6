import type { Token } from '@parley/protocol/resources/token.ts';
import type { VisitorSession } from '@parley/protocol/resources/widget.ts';
import type { FrameStorage } from './frame-storage.ts';
import { call, Refused } from './widget-calls.ts';

interface Kept extends Partial<Current> {
  readonly refresh_token: string;
  /** Repeats a refresh whose answer was lost, instead of using the token twice. */
  readonly refresh_key: string;
  /** Whether the visitor has confirmed an address. */
  readonly is_confirmed?: boolean;
}

/** An access token, which the next page uses without a refresh. */
type Current = Pick<Token, 'access_token' | 'expires_at'>;

/**
 * The session of an anonymous visitor, or of one with a confirmed address. All tabs of a site share
 * it: its refresh token, which works once, is used under a lock.
 */
export class Visitor {
  readonly #widgetId: string;
  readonly #storage: FrameStorage;
  readonly #key: string;
  /** The last of this frame's calls, which come one after the other. */
  #last: Promise<unknown> = Promise.resolve();

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
    const kept: Kept = {
      access_token,
      expires_at,
      refresh_token,
      refresh_key: crypto.randomUUID(),
      is_confirmed,
    };
    this.#storage.setItem(this.#key, JSON.stringify(kept));
  }

  /** Returns an access token that is valid for a while; null without a session. */
  accessToken({ isRefused = false } = {}): Promise<string | null> {
    return this.#locked(async () => {
      const kept = this.#read();
      if (kept === undefined) return null;
      const { access_token, expires_at = '' } = kept;
      if (!isRefused && access_token !== undefined && Date.parse(expires_at) - Date.now() > SPARE_MS)
        return access_token;
      try {
        const headers = { 'Idempotency-Key': kept.refresh_key };
        const body = { refresh_token: kept.refresh_token };
        const next = await call<Token>('POST', '/v1/auth/tokens/refresh', { body, headers });
        this.keep(next, kept.is_confirmed);
        return next.access_token;
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 401) throw error;
        this.drop();
        return null;
      }
    });
  }

  /** Forgets the session in this browser. */
  drop(): void {
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
    let isHeld = false;
    const held = () => {
      isHeld = true;
      return act();
    };
    const turn = this.#last.then(async () => {
      try {
        return await ((navigator.locks?.request(this.#key, held) as Promise<Result> | undefined) ?? held());
      } catch (error) {
        // Where the browser keeps no data for this site, it has no locks and no other tab either.
        if (isHeld) throw error;
        return held();
      }
    });
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** An access token lasts 15 minutes. */
const SPARE_MS = 60_000;
