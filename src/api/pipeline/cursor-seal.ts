import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';

/**
 * Signs the cursors of lists, so that a truncated, changed or invented cursor is refused before its
 * position reaches a query. All nodes of a database share the secret: a cursor outlives restarts
 * and is valid on each node.
 */
export class CursorSeal {
  readonly #key: KeyObject;

  constructor(secret: string) {
    this.#key = createSecretKey(secret, 'utf8');
  }

  seal(cursor: string): string {
    return cursor + this.#sign(cursor);
  }

  /** Returns the cursor unsigned. Throws ApiError `parameter_invalid` (param cursor). */
  open(sealed: string): string {
    const cursor = sealed.slice(0, -SIGNATURE_LENGTH);
    const signature = Buffer.from(sealed.slice(-SIGNATURE_LENGTH));
    const expected = Buffer.from(this.#sign(cursor));
    if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) throw badCursor();
    return cursor;
  }

  #sign(cursor: string): string {
    return createHmac('sha256', this.#key).update(cursor).digest('base64url').slice(0, SIGNATURE_LENGTH);
  }
}

export function badCursor(): ApiError {
  const message =
    'The cursor is broken, or belongs to other filters. Pass cursors back exactly as they came.';
  return new ApiError('parameter_invalid', message, { param: 'cursor' });
}

/** Characters of base64url: 96 bits. */
const SIGNATURE_LENGTH = 16;
