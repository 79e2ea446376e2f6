import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import { ParleyError, type ParleyErrorCode } from '../errors/parley-error.ts';
import { METHODS, type Outgoing, type OutgoingAnswer } from '../outbox/outbox.ts';
import type { PageStore } from './page-store.ts';

/** A message, or a change of one, that is to be sent or was refused, as JSON. */
export type OutboxRecord = Outgoing & {
  /** Why it was refused; null while it is to be sent. */
  readonly failure: OutboxFailure | null;
};

/** The parts of an error that a store keeps. */
export interface OutboxFailure {
  /** `ParleyError`, or the name of the reason that ended the call, such as `TimeoutError`. */
  readonly name: string;
  /** For logs, not for branching. */
  readonly message: string;
  /** Null unless the name is `ParleyError`. */
  readonly code: ParleyErrorCode | null;
  /** The status of the HTTP answer; null without one. */
  readonly status: number | null;
  /** The error object of the server; null if it sent none. */
  readonly error: ErrorObject | null;
}

/** The news among clients with the same store. */
export type OutboxNews =
  /** The record was added or has changed. */
  | { readonly what: 'kept'; readonly record: OutboxRecord }
  | { readonly what: 'sent'; readonly record: OutboxRecord; readonly message: OutgoingAnswer }
  | { readonly what: 'discarded'; readonly record: OutboxRecord }
  /** All records were removed. */
  | { readonly what: 'cleared' }
  /** The server can be reached. */
  | { readonly what: 'connected' };

/** The connection of one client to others with the same store. */
export interface OutboxPeers {
  /** Tells the other clients. */
  tell(news: OutboxNews): void;
  /**
   * Runs `work` while no other client runs its own for the conversation. Settles as `work` does;
   * rejects with the signal's reason if that aborts first.
   */
  alone(conversationId: string, work: () => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Ends the connection: the client hears nothing more. */
  leave(): void;
}

/** The part of a store that has the records. OutboxStore describes its methods. */
export interface OutboxRecords {
  readonly actor: string;
  readonly pages?: PageStore;
  isOf(actor: Actor): boolean | Promise<boolean>;
  all(): Promise<readonly OutboxRecord[]>;
  add(record: OutboxRecord): Promise<void>;
  update(record: OutboxRecord): Promise<void>;
  remove(key: string): Promise<void>;
  join?(hear: (news: OutboxNews) => void): OutboxPeers;
}

/** Checks a record, which other versions of the application or people may have changed. */
export function isRecord(value: unknown): value is OutboxRecord {
  const { key, conversation_id, request, change, created_at, failure } = (value ??
    {}) as Partial<OutboxRecord>;
  const isMessage = change === undefined && request?.client_message_id === key;
  const isChange = typeof change?.message_id === 'string' && change.kind in METHODS;
  return (
    [key, conversation_id, created_at].every((one) => typeof one === 'string') &&
    Number.isFinite(Date.parse(created_at!)) &&
    (isMessage || isChange) &&
    (failure === null || typeof failure?.message === 'string')
  );
}

export function failureOf(cause: unknown): OutboxFailure {
  const { name, message } = cause instanceof Error ? cause : { name: 'Error', message: String(cause) };
  if (!(cause instanceof ParleyError)) return { name, message, code: null, status: null, error: null };
  const { code, status, error } = cause;
  return { name, message, code, status, error };
}

/** Returns undefined for a message that is to be sent. */
export function errorOf(failure: OutboxFailure | null): Error | undefined {
  if (failure === null) return undefined;
  const { name, message, code, status, error } = failure;
  if (code === null) return new DOMException(message, name);
  return new ParleyError(code, message, { status, error, isTransient: error?.is_transient ?? false });
}
