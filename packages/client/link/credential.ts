import type { ParleyError } from '../errors/parley-error.ts';
import type { Timing } from '../timing/timing.ts';
import { askSource, type Source } from './source.ts';

/** A key or token that never changes, or tokens that are requested when needed. */
export class Credential {
  readonly renewable: boolean;
  /** Called once for each failure of `getToken`, however many callers wait for the token. */
  onFailed: (error: ParleyError) => void = () => {};
  readonly #ask: () => Promise<string>;
  #pending: Promise<string> | undefined;
  #token: string | undefined;

  /** Throws TypeError if both or neither are given, or if the token is malformed. */
  constructor(token: string | undefined, getToken: Source | undefined, timing: Pick<Timing, 'after'>) {
    this.renewable = typeof getToken === 'function';
    if (this.renewable === (token !== undefined)) {
      throw new TypeError('Give token, or getToken as a function.');
    }
    this.#token = this.renewable ? undefined : requireToken(token);
    this.#ask = () => askSource('token_source', getToken!, requireToken, timing);
  }

  /** Rejects with ParleyError `token_source`; the next call asks again. */
  current(): Promise<string> {
    if (this.#token !== undefined) return Promise.resolve(this.#token);
    this.#pending ??= this.#renew().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** Marks this token as useless, unless the credential is fixed or the token was replaced. */
  expired(token: string | undefined = this.#token): void {
    if (this.renewable && token === this.#token) this.#token = undefined;
  }

  async #renew(): Promise<string> {
    try {
      this.#token = await this.#ask();
      return this.#token;
    } catch (error) {
      this.onFailed(error as ParleyError);
      throw error;
    }
  }
}

/** Returns whether a value is a text of ASCII without blanks, as headers have it. */
export function isVisible(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);
}

/** Checks the characters, because fetch throws for characters that no header may have. */
function requireToken(token: unknown): string {
  if (isVisible(token)) return token;
  throw new TypeError(`The token is no string, is empty or has blanks: ${typeof token}.`);
}
