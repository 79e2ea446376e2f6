import { setTimeout as pause } from 'node:timers/promises';
import type { Retained } from '../../contract/protocol/resources/retention-policy.ts';
import { withdrawUploads } from '../../core/attachments/uploads.ts';
import { audit } from '../../core/audit/audit.ts';
import { readAuditAge } from '../../core/audit/chain-store.ts';
import { purgeAudit } from '../../core/audit/retention.ts';
import type { SigningKey } from '../../core/audit/signing-key.ts';
import { enqueueChanged } from '../../core/events/changes.ts';
import { allHoldings } from '../../core/features/all-holdings.ts';
import {
  type ConversationAges,
  markFilesRemoved,
  readConversationAges,
  readDueEnd,
  readEndedIds,
} from '../../core/messages/purge-store.ts';
import type { Expiring } from '../../core/resources/holdings.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import {
  addPurged,
  NOTHING_PURGED,
  noted,
  PURGE_BATCH,
  type Purged,
  purgeOutside,
  purgePrefix,
} from './purge.ts';
import { noteSwept, type PolicyRow, readPolicies } from './retention-policy.ts';

export interface SweepOptions {
  readonly database: Database;
  /** Signs the checkpoints that replace purged links of the audit. */
  readonly signingKey: SigningKey;
  readonly nodeId: string;
  readonly metrics: Pick<Metrics, 'retentionOldest' | 'retentionSwept' | 'retentionRemoved'>;
  readonly log: Logger;
  /** Milliseconds between two sweeps. */
  readonly everyMs: number;
  /** Milliseconds between transactions, which leave the disk to others. Default 20. */
  readonly pauseMs?: number;
}

const PAUSE_MS = 20;

/** Conversations that one query looks at. */
const CONVERSATIONS_AT_ONCE = 500;

/** Seconds after which another node takes the sweep over from one that does not renew its claim. */
const CLAIM_S = 60;

const SECONDS_A_DAY = 86_400;

/**
 * Purges rows older than their account's policy, on one node at a time, in transactions of
 * PURGE_BATCH rows. A conversation is purged from its start to its first kept message.
 */
export class RetentionSweep {
  readonly #options: SweepOptions;
  readonly #sweep: Loop;
  readonly #measure: Loop;

  constructor(options: SweepOptions) {
    this.#options = options;
    const { everyMs: intervalMs, log } = options;
    this.#sweep = new Loop({
      intervalMs,
      run: (signal) => this.sweep(signal),
      onError: (error) => log.error({ err: error }, 'retention sweep failed'),
    });
    // A separate loop, so that the metrics show a sweep that hangs.
    this.#measure = new Loop({
      intervalMs,
      run: () => this.measure(),
      onError: (error) => log.warn({ err: error }, 'measuring what is past its retention failed'),
    });
  }

  /** Sweeps now instead of after the pause. */
  wake(): void {
    this.#sweep.wake();
  }

  async close(): Promise<void> {
    await Promise.all([this.#sweep.close(), this.#measure.close()]);
  }

  /** Sweeps every account that has a policy. Returns at once if another node holds the claim. */
  async sweep(signal: AbortSignal = new AbortController().signal): Promise<void> {
    const { database, nodeId, log } = this.#options;
    if ((await database.query(CLAIM, nodeId)).length === 0) return;
    for (const policy of await readPolicies(database)) {
      if (signal.aborted) return;
      const round = new Round(this.#options, policy, signal);
      try {
        await round.run();
      } catch (error) {
        // The other accounts continue.
        log.error({ err: error, account_id: policy.account_id }, 'retention sweep of an account failed');
      }
      await this.#record(policy, round);
    }
    if (!signal.aborted) await database.query(RELEASE, nodeId);
  }

  /** Sets the metrics of overdue rows and of the last sweep. */
  async measure(): Promise<void> {
    const { database, metrics } = this.#options;
    const policies = await readPolicies(database);
    const oldest: Record<Retained, number> = { messages: 0, files: 0, notifications: 0, runs: 0, audit: 0 };
    let sweptAtMs = Date.now();
    for (const policy of policies) {
      const past = await readPast(database, policy);
      for (const kind of KINDS) oldest[kind] = Math.max(oldest[kind], past[kind]);
      sweptAtMs = Math.min(sweptAtMs, Date.parse(policy.swept_at ?? policy.updated_at));
    }
    for (const kind of KINDS) metrics.retentionOldest.set({ kind }, oldest[kind]);
    metrics.retentionSwept.set(sweptAtMs / 1_000);
  }

  async #record({ account_id: accountId }: PolicyRow, { purged, audited, isWhole }: Round): Promise<void> {
    const { database, metrics, log } = this.#options;
    const { messages, files, notifications, runs } = purged;
    const counts = { messages, files, notifications, runs, audit: audited };
    log.info({ account_id: accountId, ...counts, whole: isWhole }, 'retention sweep of an account');
    for (const [kind, count] of Object.entries(counts)) metrics.retentionRemoved.inc({ kind }, count);
    if (isWhole) await noteSwept(database, accountId);
    // Purged audit links have a checkpoint: an event of it would itself have to be purged.
    if (isNothing(purged)) return;
    await database.transaction((tx) =>
      audit(tx, {
        accountId,
        conversationId: null,
        actorId: null,
        action: 'retention.swept',
        details: counts,
      }),
    );
  }
}

const KINDS = ['messages', 'files', 'notifications', 'runs', 'audit'] as const;

/** The sweep of one account. */
class Round {
  readonly #options: SweepOptions;
  readonly #policy: PolicyRow;
  readonly #signal: AbortSignal;
  purged: Purged = NOTHING_PURGED;
  /** The number of purged audit events. */
  audited = 0;
  /** Whether nothing older than the policy is left, except held or unfinished rows. */
  isWhole = false;

  constructor(options: SweepOptions, policy: PolicyRow, signal: AbortSignal) {
    this.#options = options;
    this.#policy = policy;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const { notifications_days, runs_days, files_days } = this.#policy;
    for await (const page of this.#pages()) {
      for (const conversation of page) await this.#sweepConversation(conversation);
    }
    await this.#expire('files', files_days);
    await this.#expire('notifications', notifications_days);
    await this.#expire('runs', runs_days);
    this.isWhole = (await this.#sweepAudit()) && !this.#signal.aborted;
  }

  async #expire(kind: Expiring, days: number | null): Promise<void> {
    if (days === null) return;
    for (const holdings of allHoldings()) {
      const expire = holdings.expire?.[kind];
      if (expire === undefined) continue;
      await this.#repeat(async (tx) =>
        noted(tx, await expire(tx, this.#policy.account_id, days, PURGE_BATCH)),
      );
    }
  }

  /** Returns false if a tampered audit cannot be purged; everything else continues. */
  async #sweepAudit(): Promise<boolean> {
    const { account_id: accountId, audit_days: days } = this.#policy;
    const { signingKey, log } = this.#options;
    if (days === null) return true;
    try {
      for (let more = true; more && !this.#signal.aborted; ) {
        const purged = await this.#transaction((tx) =>
          purgeAudit(tx, signingKey, { accountId, days, limit: PURGE_BATCH }),
        );
        this.audited += purged;
        more = purged === PURGE_BATCH;
        if (more) await this.#breathe();
      }
      return true;
    } catch (error) {
      log.error({ err: error, account_id: accountId }, 'the audit of an account is not purged');
      return false;
    }
  }

  async *#pages(): AsyncIterable<readonly ConversationAges[]> {
    const { messages_days, files_days, account_id } = this.#policy;
    if (messages_days === null && files_days === null) return;
    let last: ConversationAges | undefined;
    do {
      const page = await readConversationAges(
        this.#options.database,
        account_id,
        last,
        CONVERSATIONS_AT_ONCE,
      );
      yield page;
      last = page.length < CONVERSATIONS_AT_ONCE ? undefined : page.at(-1);
      if (last !== undefined) await this.#breathe();
    } while (last !== undefined && !this.#signal.aborted);
  }

  async #sweepConversation({ id, message_age, ended_age, file_age }: ConversationAges): Promise<void> {
    const { messages_days: days, files_days: filesDays } = this.#policy;
    if (days !== null && isPast(message_age, days)) {
      await this.#repeat(async (tx) => {
        const end = await readDueEnd(tx, id, days, PURGE_BATCH);
        return end === undefined ? undefined : purgePrefix(tx, id, end);
      });
    }
    if (days !== null && isPast(ended_age, days)) {
      await this.#repeat(async (tx) => purgeOutside(tx, id, await readEndedIds(tx, id, days, PURGE_BATCH)));
    }
    if (filesDays !== null && isPast(file_age, filesDays)) {
      for (let more = true; more && !this.#signal.aborted; ) {
        more = await this.#transaction((tx) => this.#removeFiles(tx, id, filesDays));
        if (more) await this.#breathe();
      }
    }
  }

  /** Returns whether there may be more. */
  async #removeFiles(tx: Tx, conversationId: string, days: number): Promise<boolean> {
    const removed = await markFilesRemoved(tx, conversationId, days, PURGE_BATCH);
    if (removed === undefined) return false;
    const { keys, messageIds, more } = removed;
    for (const holdings of allHoldings()) await holdings.forgetFiles?.(tx, keys);
    await withdrawUploads(tx, keys);
    await enqueueChanged(
      tx,
      messageIds.map((id) => ({ event: 'message.updated', id, stream: conversationId })),
    );
    this.purged = addPurged(this.purged, { ...NOTHING_PURGED, files: keys.length });
    return more;
  }

  /** Runs transactions until one has nothing more to purge. */
  async #repeat(work: (tx: Tx) => Promise<Purged | undefined>): Promise<void> {
    while (!this.#signal.aborted) {
      const purged = await this.#transaction(work);
      if (purged === undefined || isNothing(purged)) return;
      this.purged = addPurged(this.purged, purged);
      await this.#breathe();
    }
  }

  #transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#options.database.transaction(work);
  }

  /** Pauses, so that others can use the database, and renews the claim. */
  async #breathe(): Promise<void> {
    const { database, nodeId, pauseMs = PAUSE_MS } = this.#options;
    await pause(pauseMs);
    if ((await database.query(CLAIM, nodeId)).length === 0)
      throw new Error('another node took the sweep over');
  }
}

/** Returns how many seconds the oldest row of each kind is past the policy; 0 if none is. */
async function readPast(
  database: Database,
  policy: PolicyRow,
): Promise<Record<(typeof KINDS)[number], number>> {
  const {
    account_id: accountId,
    messages_days,
    files_days,
    notifications_days,
    runs_days,
    audit_days,
  } = policy;
  const past = { messages: 0, files: 0, notifications: 0, runs: 0, audit: 0 };
  const note = (kind: keyof typeof past, age: number | null, days: number | null) => {
    if (age !== null && days !== null) past[kind] = Math.max(past[kind], age - days * SECONDS_A_DAY);
  };
  if (messages_days !== null || files_days !== null) {
    let last: ConversationAges | undefined;
    do {
      const page = await readConversationAges(database, accountId, last, CONVERSATIONS_AT_ONCE);
      for (const { message_age, ended_age, file_age } of page) {
        note('messages', message_age, messages_days);
        note('messages', ended_age, messages_days);
        note('files', file_age, files_days);
      }
      last = page.length < CONVERSATIONS_AT_ONCE ? undefined : page.at(-1);
    } while (last !== undefined);
  }
  if (notifications_days !== null || runs_days !== null || files_days !== null) {
    for (const holdings of allHoldings()) {
      const ages = (await holdings.readAges?.(database, accountId)) ?? {};
      const { notifications = null, runs = null, files = null } = ages;
      note('notifications', notifications, notifications_days);
      note('runs', runs, runs_days);
      note('files', files, files_days);
    }
  }
  if (audit_days !== null) note('audit', await readAuditAge(database, accountId), audit_days);
  return past;
}

function isPast(ageS: number | null, days: number): boolean {
  return ageS !== null && ageS > days * SECONDS_A_DAY;
}

function isNothing({ messages, files, notifications, runs }: Purged): boolean {
  return messages + files + notifications + runs === 0;
}

// The claim is a row of settings: it needs no connection, and expires if its node dies.
const CLAIM = statement<[nodeId: string]>('claim-retention-sweep')`
    INSERT INTO settings AS held (name, value) VALUES ('retention_sweep', $1)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, created_at = clock_timestamp()
      WHERE held.value = excluded.value OR held.created_at < clock_timestamp() - interval '${CLAIM_S} s'
    RETURNING 1`;

const RELEASE = statement<[nodeId: string]>('release-retention-sweep')`
    DELETE FROM settings WHERE name = 'retention_sweep' AND value = $1`;
