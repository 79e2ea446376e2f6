import type { ErrorObject } from '../protocol/errors.ts';
import { CLOSE_BANDS, CLOSE_CODES, type NextStep } from '../protocol/socket/close-codes.ts';

/** How a connection ended. */
export interface ConnectionEnd {
  /** 1006 if there was no close frame. */
  readonly code: number;
  readonly reason: string;
  /** Why the server refused the caller, if it said so. */
  readonly error?: ErrorObject;
}

export interface AfterClose {
  readonly next: NextStep;
  /** Milliseconds that the server asks the client to wait; 0 if it does not. */
  readonly waitMs: number;
}

/**
 * Returns what a client does after its connection has ended (docs/realtime.md#close-codes), by its
 * code, else by the code's band.
 */
export function afterClose({ code, reason }: ConnectionEnd): AfterClose {
  const next = BY_CODE.get(code) ?? CLOSE_BANDS[Math.floor(code / 100)] ?? 'reconnect';
  return { next, waitMs: next === 'wait' ? retryAfterOf(reason) : 0 };
}

const BY_CODE = new Map<number, NextStep>(Object.values(CLOSE_CODES).map(({ code, next }) => [code, next]));

const DEFAULT_WAIT_MS = 1_000;

function retryAfterOf(reason: string): number {
  try {
    const { retry_after_ms: ms } = JSON.parse(reason) as { readonly retry_after_ms?: unknown };
    return typeof ms === 'number' && ms >= 0 ? ms : DEFAULT_WAIT_MS;
  } catch {
    return DEFAULT_WAIT_MS;
  }
}
