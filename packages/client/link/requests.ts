import type { DeclaredStatus } from '@parley/protocol/resources/activity.ts';
import type { CommandFields, CommandResult, Op } from '@parley/protocol/socket/commands.ts';
import { ended, refusal } from '../errors/parley-error.ts';
import type { Timing } from '../timing/timing.ts';
import { abortable } from './abortable.ts';
import { type CallOptions, within } from './call-scope.ts';
import type { CommandAnswer, Connection } from './connection.ts';

/** The ops that an application may request over the socket; the client uses all other ops. */
const REQUESTS: readonly RequestOp[] = ['typing', 'mark_read', 'presence'];
/** An op of `Client.request`. */
export type RequestOp = Extract<Op, 'typing' | 'mark_read' | 'presence'>;

export interface RequestsHost {
  readonly timing: Pick<Timing, 'after'>;
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal;
  current(): Connection | undefined;
  /** Whether the application is in the background, so that the person is away. */
  isAway(): boolean;
  /** Returns false while the connection is catching up with a followed conversation. */
  isCaughtUp(conversationId: string): boolean;
}

interface Pending {
  readonly op: RequestOp;
  readonly fields: { readonly conversation_id?: string };
  readonly settle: (answer: CommandAnswer) => void;
  /** The connection on which it was last sent. */
  sentOn: Connection | undefined;
}

/**
 * The application's requests. Without a connection, or if it ends before the answer, a request is
 * sent on the next connection: all may be repeated. Each new connection declares the last presence
 * again, because presence belongs to a connection.
 */
export class Requests {
  readonly #host: RequestsHost;
  readonly #pending = new Set<Pending>();
  /** What the application has declared last. */
  #presence: DeclaredStatus | false;
  #isOver = false;

  constructor(host: RequestsHost, presence: DeclaredStatus | false) {
    this.#host = host;
    this.#presence = presence;
  }

  /** Rejects with ParleyError, or as CallOptions say; `timeoutMs` is 10,000 by default. */
  async request<O extends RequestOp>(
    op: O,
    fields: CommandFields<O>,
    options: CallOptions,
  ): Promise<CommandResult<O>> {
    if (!REQUESTS.includes(op)) {
      throw new TypeError(`op must be one of ${REQUESTS}.`);
    }
    const { timing, closing } = this.#host;
    const limits = { timeoutMs: TIMEOUT_MS, ...options };
    const declared = op === 'presence' && (fields as CommandFields<'presence'>).status;
    const asked = declared ? this.#shown(declared) : fields;
    const result = await within(timing, limits, closing, (signal) => this.#ask(op, asked, signal));
    this.#presence = declared || this.#presence;
    return result as unknown as CommandResult<O>;
  }

  attached(connection: Connection): void {
    this.declare(connection);
    this.flush();
  }

  /** Declares the presence again, because the connection is new or the person comes or goes. */
  declare(connection: Connection | undefined = this.#host.current()): void {
    if (this.#presence) connection?.ask('presence', this.#shown(this.#presence), () => {});
  }

  /** Returns what others see of a declared presence. */
  #shown(status: DeclaredStatus): CommandFields<'presence'> {
    return { status: this.#host.isAway() ? 'away' : status };
  }

  /** Sends the waiting requests that the current connection can take. */
  flush(): void {
    const current = this.#host.current();
    if (current === undefined) return;
    for (const pending of this.#pending) {
      if (pending.sentOn !== current && this.#isDue(pending)) this.#send(pending, current);
    }
  }

  /** Returns whether a request may be sent: typing waits for the subscription. */
  #isDue({ op, fields }: Pending): boolean {
    return op !== 'typing' || this.#host.isCaughtUp(fields.conversation_id ?? '');
  }

  /** Ends the requests: no other connection follows. */
  end(): void {
    this.#isOver = true;
    for (const { settle } of this.#pending) settle({});
  }

  #ask(op: RequestOp, fields: object, signal: AbortSignal): Promise<object> {
    return abortable(signal, (resolve, reject) => {
      const settle = ({ result, error }: CommandAnswer) =>
        result ? resolve(result) : reject(error ? refusal(error) : ended());
      const pending: Pending = { op, fields, settle, sentOn: undefined };
      if (this.#isOver) settle({});
      else this.#pending.add(pending);
      this.flush();
      return () => this.#pending.delete(pending);
    });
  }

  #send(pending: Pending, connection: Connection): void {
    pending.sentOn = connection;
    connection.ask(pending.op, pending.fields, (answer) => {
      if (!this.#pending.has(pending) || pending.sentOn !== connection) return;
      if (answer.result ?? answer.error) pending.settle(answer);
      else this.flush();
    });
  }
}

/** Typing and read positions are useless much later. */
const TIMEOUT_MS = 10_000;
