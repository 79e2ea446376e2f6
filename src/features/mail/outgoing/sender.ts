import type { EmailPurpose } from '../../../contract/protocol/resources/email.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Metrics } from '../../../platform/metrics.ts';
import { Lanes } from '../../../platform/outbound/lanes.ts';
import type { MailRow } from '../mail-store.ts';
import { composeMail } from './compose-mail.ts';
import { type MailOutcome, recordOutcome } from './outcome.ts';
import { measureWaiting, releaseMails, renewLeases, takeDueMails } from './outgoing-store.ts';
import type { SendSchedule } from './send-schedule.ts';
import type { MailTransport, Tried } from './transport.ts';
import type { MailWriter, WrittenMail } from './written-mail.ts';

export interface MailSenderOptions {
  readonly database: Database;
  readonly transport: MailTransport;
  readonly schedule: SendSchedule;
  /** Writes the mails of each purpose. */
  readonly writers: Readonly<Partial<Record<EmailPurpose, MailWriter>>>;
  /** Milliseconds for one try. */
  readonly timeoutMs?: number;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** A mail that this node has taken. */
interface Taken {
  readonly mail: MailRow;
  readonly takenAtMs: number;
}

/** Tries of one account side by side; beyond CROWD of all accounts, each account has one. */
const SIDE_BY_SIDE = 8;
const CROWD = 8;
/** Mails of one account in memory; the others stay in the table. */
const ROOM = 32;
/**
 * Accounts whose mails are sent at the same time. With the numbers above, no try waits for a
 * connection.
 */
const MAX_ACCOUNTS = 8;
const TAKEN_AT_ONCE = 64;

const TRY_MS = 5 * 60_000;
const MEASURE_EVERY_MS = 10_000;
/** A renewal has this part of the lease to succeed. */
const RENEWED_AFTER = 1 / 3;
/** Between two tries to write an outcome. */
const WRITE_AGAIN_MS = 1_000;

/**
 * Sends mails whose time has come, whichever node has made them. A node that takes a mail has a
 * lease on it, which it renews until the outcome is written; what a node leaves behind when it dies
 * is taken by another. So a mail is tried until its row says how it ended, and a mail whose node
 * died before it could say so is sent once more, under the same Message-ID.
 */
export class MailSender {
  readonly #options: MailSenderOptions;
  readonly #lanes: Lanes<Taken>;
  readonly #sweep: Loop;
  /**
   * Those that this node holds, tries under way and outcomes that are still to be written included.
   */
  readonly #held = new Set<Taken>();
  readonly #stop = new AbortController();
  #renewedAtMs = performance.now();
  #measuredAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: MailSenderOptions) {
    this.#options = options;
    const { schedule, log } = options;
    this.#sweep = new Loop({
      intervalMs: schedule.lookEveryMs,
      run: (signal) => this.#round(signal),
      onError: (error) => log.warn({ err: error }, 'looking for mail to send failed'),
    });
    this.#lanes = new Lanes({
      laneOf: ({ mail }) => mail.account_id,
      sideBySide: SIDE_BY_SIDE,
      crowd: CROWD,
      room: ROOM,
      maxLanes: MAX_ACCOUNTS,
      run: (taken) => this.#run(taken),
      onDrained: () => this.#sweep.wake(),
    });
    this.#sweep.wake();
  }

  /** Takes what is due now instead of with the next sweep. */
  wake(): void {
    this.#sweep.wake();
  }

  /**
   * Lets tries under way end, for `ms` at most; no other begins. Mails that have not begun are left
   * to other nodes.
   */
  async drain(ms: number): Promise<void> {
    if (!this.#stop.signal.aborted) {
      this.#stop.abort();
      await this.#sweep.close();
      const left = this.#lanes.abandonQueued();
      for (const taken of left) this.#held.delete(taken);
      await releaseMails(this.#options.database, idsOf(left)).catch(() => undefined);
    }
    await this.#lanes.idle(ms);
  }

  /** A try that has not ended is repeated by another node when its lease ends. */
  async close(): Promise<void> {
    await this.drain(0);
    this.#options.transport.close();
    await this.#lanes.idle(CLOSING_MS);
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { database } = this.#options;
    await this.#renew();
    for (let isMore = true; isMore && !signal.aborted; ) {
      const rooms = this.#lanes.rooms();
      const busy = [...rooms].flatMap(([accountId, room]) => (room === 0 ? accountId : []));
      const due = await takeDueMails(database, busy, this.#leaseMs, TAKEN_AT_ONCE);
      const takenAtMs = performance.now();
      const left = due.map((mail) => ({ mail, takenAtMs })).filter((taken) => !this.#begin(taken));
      await releaseMails(database, idsOf(left));
      isMore = left.length === 0 && due.length === TAKEN_AT_ONCE;
    }
    await this.#measure();
  }

  #begin(taken: Taken): boolean {
    this.#held.add(taken);
    const isBegun = this.#lanes.add(taken);
    if (!isBegun) this.#held.delete(taken);
    return isBegun;
  }

  /** Never rejects. */
  async #run(taken: Taken): Promise<void> {
    const { mail } = taken;
    try {
      // Its lease may have ended: a sweep takes it again.
      if (performance.now() - Math.max(taken.takenAtMs, this.#renewedAtMs) > this.#leaseMs) return;
      await this.#try(mail);
    } catch (error) {
      this.#options.log.warn({ err: error, mail_id: mail.id }, 'a mail could not be made');
      await this.#record(this.#later(mail, 'internal_error'));
    } finally {
      this.#held.delete(taken);
    }
  }

  async #try(mail: MailRow): Promise<void> {
    const { database, writers } = this.#options;
    const written = await writers[mail.purpose]!(mail);
    if ('unsent' in written) {
      const { unsent, reason, onEnd } = written;
      const outcome = { mailId: mail.id, attempt: mail.attempts, reason, status: 'canceled' } as const;
      await this.#record(unsent === 'canceled' ? outcome : this.#later(mail, reason), onEnd);
      return;
    }
    const recipients = mail.recipients.flatMap(({ address, status }) =>
      status === 'queued' || status === 'deferred' ? address : [],
    );
    if (recipients.length === 0) {
      // Persons that are erased lose their addresses.
      const outcome = { mailId: mail.id, attempt: mail.attempts, reason: 'no_recipient' };
      await this.#record({ ...outcome, status: 'canceled' }, written.onEnd);
      return;
    }
    const tried = await this.#send(written, recipients);
    if (this.#stop.signal.aborted && tried.recipients.every(({ status }) => status === 'deferred')) {
      // The connection may have ended because this node stops.
      await releaseMails(database, [mail.id]);
      return;
    }
    await this.#record(this.#afterTry(mail, tried), written.onEnd);
  }

  async #send({ content, sender }: FullMail, recipients: readonly string[]): Promise<Tried> {
    const { transport, metrics, timeoutMs = TRY_MS } = this.#options;
    const composed = composeMail(content, { sender, recipients });
    const beganMs = performance.now();
    const tried = await transport.send(composed, recipients, AbortSignal.timeout(timeoutMs));
    metrics.mailSendSeconds.observe((performance.now() - beganMs) / 1_000);
    return tried;
  }

  #afterTry(mail: MailRow, { recipients, reason }: Tried): MailOutcome {
    const { id: mailId, attempts: attempt } = mail;
    if (!recipients.some(({ status }) => status === 'deferred'))
      return { mailId, attempt, recipients, reason };
    const { status: _, ...later } = this.#later(mail, reason);
    return later.nextTryMs === null
      ? { ...later, recipients, status: 'failed', reason: 'expired' }
      : { ...later, recipients };
  }

  /** The mail is tried again, unless it has been for five days. */
  #later({ id: mailId, attempts: attempt }: MailRow, reason: string | null): MailOutcome {
    const nextTryMs = this.#options.schedule.delayAfter(attempt);
    return { mailId, attempt, reason, nextTryMs, status: nextTryMs === null ? 'failed' : 'deferred' };
  }

  /**
   * Writes the outcome, however often that fails, while this node runs: a mail that was sent would
   * be sent again.
   */
  async #record(outcome: MailOutcome, onEnd?: WrittenMail['onEnd']): Promise<void> {
    const { database, metrics, log } = this.#options;
    for (;;) {
      try {
        const status = await database.transaction(async (tx) => {
          const status = await recordOutcome(tx, outcome);
          if (status !== undefined && status !== 'deferred' && status !== 'queued') await onEnd?.(tx);
          return status;
        });
        if (status !== undefined) metrics.mailsSent.inc({ outcome: status });
        return;
      } catch (error) {
        log.warn({ err: error, mail_id: outcome.mailId }, 'the outcome of a mail could not be written');
        if (this.#stop.signal.aborted) return;
        await this.#pause(WRITE_AGAIN_MS);
      }
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#stop.signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#stop.signal.addEventListener('abort', end);
    });
  }

  async #renew(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#renewedAtMs < this.#leaseMs * RENEWED_AFTER) return;
    await renewLeases(this.#options.database, idsOf([...this.#held]), this.#leaseMs);
    this.#renewedAtMs = nowMs;
  }

  async #measure(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#measuredAtMs < MEASURE_EVERY_MS) return;
    this.#measuredAtMs = nowMs;
    const { database, metrics } = this.#options;
    const { waiting, oldestSeconds } = await measureWaiting(database);
    metrics.mailsWaiting.set(waiting);
    metrics.mailsWaitingSeconds.set(oldestSeconds);
  }

  get #leaseMs(): number {
    return this.#options.schedule.leaseMs;
  }
}

type FullMail = Extract<WrittenMail, { readonly content: object }>;

const CLOSING_MS = 2_000;

function idsOf(taken: readonly Taken[]): string[] {
  return taken.map(({ mail }) => mail.id);
}
