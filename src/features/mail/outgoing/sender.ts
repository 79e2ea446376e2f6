import { setTimeout } from 'node:timers/promises';
import type { EmailPurpose } from '@parley/protocol/resources/email.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import { delayAfter } from '../../../platform/backoff.ts';
import { Sender } from '../../../platform/outbound/sender.ts';
import { readStopped } from '../complaints/complaint-store.ts';
import type { MailRow } from '../mails/mail-store.ts';
import type { MailMetrics } from '../metrics.ts';
import { composeMail, type MailContent, type MailWriter, type WrittenMail } from './compose-mail.ts';
import { type MailOutcome, recordOutcome } from './outcome.ts';
import { OUTGOING } from './outgoing-store.ts';
import type { SEND_TIMES } from './send-times.ts';
import type { MailTransport, Tried } from './transport.ts';

export interface MailSenderOptions extends Pick<NodeParts, 'database' | 'log'> {
  readonly metrics: MailMetrics;
  readonly transport: MailTransport;
  readonly times: typeof SEND_TIMES;
  /** Writes the mails of each purpose. */
  readonly writers: Readonly<Partial<Record<EmailPurpose, MailWriter>>>;
}

/** Concurrent tries of one account; beyond CROWD of all accounts, each account has one. */
const SIDE_BY_SIDE = 8;
const CROWD = 8;
/** Mails of one account in memory; all others stay in the table. */
const ROOM = 32;
/** Accounts that are served concurrently. With the numbers above, no try waits for a connection. */
const MAX_ACCOUNTS = 8;
const TAKEN_AT_ONCE = 64;

/** Milliseconds for one try. */
const TRY_MS = 5 * 60_000;
/** Milliseconds between two tries to write an outcome. */
const WRITE_AGAIN_MS = 1_000;

/**
 * Sends due mails, whichever node has made them. A node that takes a mail renews its lease until
 * the outcome is written; if it dies, another node takes the mail. So a mail is tried until its row
 * records its end. If its node died before that write, the mail is sent once more, under the same
 * Message-ID.
 */
export class MailSender {
  readonly #options: MailSenderOptions;
  readonly #sender: Sender<MailRow>;
  readonly #stop = new AbortController();

  constructor(options: MailSenderOptions) {
    this.#options = options;
    const { database, times, metrics, log } = options;
    const { lookEveryMs, leaseMs } = times;
    this.#sender = new Sender<MailRow>({
      name: 'mails',
      lanes: {
        laneOf: (mail) => mail.account_id,
        sideBySide: SIDE_BY_SIDE,
        crowd: CROWD,
        room: ROOM,
        maxLanes: MAX_ACCOUNTS,
      },
      lookEveryMs,
      leaseMs,
      atOnce: TAKEN_AT_ONCE,
      take: (rooms, atOnce) => {
        const busy = [...rooms].flatMap(([accountId, room]) => (room === 0 ? accountId : []));
        return OUTGOING.take(database, leaseMs, busy, atOnce);
      },
      renew: (mails) => OUTGOING.renew(database, mails, leaseMs),
      release: (mails) => OUTGOING.release(database, mails),
      send: (mail) => this.#send(mail),
      measure: async () => {
        const { waiting, oldestSeconds } = await OUTGOING.measure(database);
        metrics.mailsWaiting.set(waiting);
        metrics.mailsWaitingSeconds.set(oldestSeconds);
      },
      load: database.load,
      log,
    });
    this.#sender.wake();
  }

  /** Takes due mails now instead of at the next look. */
  wake(): void {
    this.#sender.wake();
  }

  /**
   * Begins no more tries and waits up to `ms` milliseconds for running ones. Leaves mails that have
   * not begun to other nodes.
   */
  drain(ms: number): Promise<void> {
    this.#stop.abort();
    return this.#sender.drain(ms);
  }

  /** Stops sending. Another node repeats an unfinished try when its lease ends. */
  async close(): Promise<void> {
    await this.drain(0);
    this.#options.transport.close();
    await this.#sender.drain(CLOSING_MS);
  }

  /** Never rejects. */
  async #send(mail: MailRow): Promise<void> {
    try {
      await this.#try(mail);
    } catch (error) {
      this.#options.log.warn({ err: error, mail_id: mail.id }, 'a mail could not be made');
      await this.#record(this.#later(mail, 'internal_error'));
    }
  }

  async #try(mail: MailRow): Promise<void> {
    const { database, writers } = this.#options;
    const written = await writers[mail.purpose]!(mail);
    if ('unsent' in written) {
      const { unsent, reason, onEnd } = written;
      await this.#record(unsent === 'canceled' ? canceled(mail, reason) : this.#later(mail, reason), onEnd);
      return;
    }
    const recipients = mail.recipients.flatMap(({ address, status }) =>
      status === 'queued' || status === 'deferred' ? address : [],
    );
    if (recipients.length === 0) {
      // Erased persons lose their addresses.
      await this.#record(canceled(mail, 'no_recipient'), written.onEnd);
      return;
    }
    const tried = await this.#hand(mail, written, recipients);
    if (this.#stop.signal.aborted && tried.recipients.every(({ status }) => status === 'deferred')) {
      // The connection may have ended because this node stops.
      await OUTGOING.release(database, [mail]);
      return;
    }
    await this.#record(this.#afterTry(mail, tried), written.onEnd);
  }

  /** Hands it to the server for these recipients, except those that have complained about mail. */
  async #hand(mail: MailRow, content: MailContent, due: readonly string[]): Promise<Tried> {
    const { transport, metrics } = this.#options;
    const stopped = await this.#stoppedOf(mail, due);
    const recipients = due.filter((address) => !stopped.includes(address));
    const refused = stopped.map((address) => ({ address, status: 'failed' as const, code: null }));
    if (recipients.length === 0) return { recipients: refused, reason: 'complaint' };
    const composed = composeMail(mail, content, recipients);
    const beganMs = performance.now();
    const tried = await transport.send(composed, recipients, AbortSignal.timeout(TRY_MS));
    metrics.mailSendSeconds.observe((performance.now() - beganMs) / 1_000);
    const reason = tried.reason ?? (refused.length === 0 ? null : 'complaint');
    return { recipients: [...tried.recipients, ...refused], reason };
  }

  /** Only replies are stopped: users set their own digests, and confirm their own addresses. */
  async #stoppedOf({ account_id: accountId, purpose }: MailRow, due: readonly string[]) {
    if (purpose !== 'reply') return [];
    return readStopped(this.#options.database, { accountId, addresses: due });
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

  /** Schedules another try, unless the mail has been tried for five days. */
  #later({ id: mailId, attempts: attempt }: MailRow, reason: string | null): MailOutcome {
    const nextTryMs = delayAfter(this.#options.times.retries, attempt);
    return { mailId, attempt, reason, nextTryMs, status: nextTryMs === null ? 'failed' : 'deferred' };
  }

  /** Writes the outcome, however often that fails: a sent mail must not be sent again. */
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
        await setTimeout(WRITE_AGAIN_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      }
    }
  }
}

function canceled({ id: mailId, attempts: attempt }: MailRow, reason: string): MailOutcome {
  return { mailId, attempt, reason, status: 'canceled' };
}

const CLOSING_MS = 2_000;
