import type { ErrorObject } from '../../protocol/error-envelope.ts';
import type { ChatMessage, SendMessageBody } from '../../protocol/resources/chat-message.ts';
import { ParleyError, type ParleyErrorCode } from '../parley-error.ts';

/** A message that is to be sent or was refused, as JSON. */
export interface OutboxRecord {
  /** The `client_message_id`. */
  readonly key: string;
  readonly conversation_id: string;
  /** The body of the request, with the `client_message_id`. */
  readonly request: SendMessageBody;
  /** By the clock of the machine. */
  readonly created_at: string;
  /** Why the message was refused; null while it is to be sent. */
  readonly failure: OutboxFailure | null;
}

/** The parts of an error that a store keeps. */
export interface OutboxFailure {
  /** `ParleyError`, or the name of the reason that ended the call, such as `TimeoutError`. */
  readonly name: string;
  readonly message: string;
  /** Null unless the name is `ParleyError`. */
  readonly code: ParleyErrorCode | null;
  readonly status: number | null;
  readonly error: ErrorObject | null;
}

/** What one of several clients with the same store tells the others. */
export type OutboxNews =
  /** The record was added or has changed. */
  | { readonly what: 'kept'; readonly record: OutboxRecord }
  | { readonly what: 'sent'; readonly record: OutboxRecord; readonly message: ChatMessage }
  | { readonly what: 'discarded'; readonly record: OutboxRecord }
  /** All records were removed. */
  | { readonly what: 'cleared' }
  /** The server can be reached. */
  | { readonly what: 'connected' };

/** The connection of one client to the others with the same store. */
export interface OutboxPeers {
  tell(news: OutboxNews): void;
  /**
   * Runs `work` while no other client runs its own for the conversation. Settles as `work` does;
   * rejects with the signal's reason if that aborts first.
   */
  alone(conversationId: string, work: () => Promise<void>, signal: AbortSignal): Promise<void>;
  leave(): void;
}

/**
 * Keeps the messages that one actor of an account has written and the server does not have yet.
 * `openStore` of `parley-client/store` returns one that is in IndexedDB; elsewhere an application
 * writes its own. Methods reject where the storage fails: the client then sends the message all the
 * same, and emits `error` once.
 */
export interface OutboxStore {
  readonly account: string;
  /** The id of the actor. Clients of other actors neither show nor send its messages. */
  readonly actor: string;
  /** Returns the records in the order of `add`. */
  all(): Promise<readonly OutboxRecord[]>;
  /** Adds a record behind all others; replaces an earlier one with its key. */
  add(record: OutboxRecord): Promise<void>;
  /** Replaces the record with this key in its place. Does nothing if there is none. */
  update(record: OutboxRecord): Promise<void>;
  remove(key: string): Promise<void>;
  /** Removes all records, and tells open clients, which then keep nothing more. For sign-outs. */
  clear(): Promise<void>;
  /**
   * Connects a client to the others with the same store, such as those of other tabs. `hear` gets
   * their news, but not its own. Absent if only one client at a time has the store.
   */
  join?(hear: (news: OutboxNews) => void): OutboxPeers;
}

/** Storage is shared with other versions of the application, and people may change it. */
export function isRecord(value: unknown): value is OutboxRecord {
  const { key, conversation_id, request, created_at, failure } = (value ?? {}) as Partial<OutboxRecord>;
  return (
    [key, conversation_id, created_at].every((one) => typeof one === 'string') &&
    Number.isFinite(Date.parse(created_at!)) &&
    typeof request === 'object' &&
    request?.client_message_id === key &&
    (failure === null || typeof failure?.message === 'string')
  );
}

export function failureOf(cause: unknown): OutboxFailure {
  const { name, message } = cause instanceof Error ? cause : { name: 'Error', message: String(cause) };
  if (!(cause instanceof ParleyError)) return { name, message, code: null, status: null, error: null };
  const { code, status, error } = cause;
  return { name, message, code, status, error };
}

export function errorOf({ name, message, code, status, error }: OutboxFailure): Error {
  if (code === null) return new DOMException(message, name);
  return new ParleyError(code, message, { status, error, isTransient: error?.is_transient ?? false });
}
