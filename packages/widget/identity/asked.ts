import type { AddressConfirmation } from '@parley/protocol/resources/widget.ts';
import type { FrameStorage } from './frame-storage.ts';

/** The mail that this browser has asked for, to confirm an address. */
export type AskedMail = Required<Pick<AddressConfirmation, 'email' | 'confirmation_token' | 'expires_at'>>;

/**
 * Remembers which mail this browser has asked for: its code may be entered on the next page too,
 * and after the link was opened elsewhere, which ends the session here.
 */
export class Asked {
  readonly #storage: FrameStorage;
  readonly #key: string;

  constructor(widgetId: string, storage: FrameStorage) {
    this.#storage = storage;
    this.#key = `parley-asked-${widgetId}`;
  }

  get mail(): AskedMail | null {
    try {
      return JSON.parse(this.#storage.getItem(this.#key) ?? 'null');
    } catch {
      return null;
    }
  }

  keep(mail: AskedMail): void {
    this.#storage.setItem(this.#key, JSON.stringify(mail));
  }

  forget(): void {
    this.#storage.removeItem(this.#key);
  }
}

/** Returns whether the code of a mail can still be entered. */
export function isOpen({ expires_at }: AskedMail): boolean {
  return Date.parse(expires_at) > Date.now();
}
