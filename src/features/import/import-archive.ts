import { resolve } from 'node:path';
import type { ImportSource } from '@parley/protocol/resources/import.ts';
import { findAccount } from '../../core/accounts/account/accounts.ts';
import type { CommandContext } from '../../core/features/command.ts';
import { ImportedWrites } from '../../core/messages/timeline/imported-write.ts';
import { LockedWrites } from '../../core/messages/timeline/locked-write.ts';
import { Numbers } from '../../core/messages/timeline/numbers.ts';
import { Timeline } from '../../core/messages/timeline/timeline.ts';
import { coreMetrics } from '../../core/metrics.ts';
import { createMetrics } from '../../platform/metrics.ts';
import { GuardedFetch } from '../../platform/outbound/guarded-fetch.ts';
import { importLocally } from './local-import.ts';

/**
 * Imports an archive in this process, with the database, the file store and the counters of the
 * deployment, and prints the report. The first SIGINT or SIGTERM pauses the import; the same
 * command continues it. Rejects after the report if the import did not complete.
 */
export async function importArchive(
  context: CommandContext,
  source: ImportSource,
  { account = '', archive = '', ...options }: Readonly<Record<string, string>>,
): Promise<undefined> {
  const { database, config, log, print } = context;
  const { id: accountId } = await findAccount(database, account);
  const stop = new AbortController();
  const onSignal = () => stop.abort(new Error('the import is paused'));
  for (const signal of SIGNALS) process.once(signal, onSignal);
  const line = new ProgressLine();
  try {
    const metrics = createMetrics();
    const ofCore = coreMetrics(metrics);
    const engine = await context.openEngine(metrics);
    const store = await context.openStore();
    const timeline = new Timeline(database, engine, ofCore);
    const lockedWrites = new LockedWrites({
      database,
      files: store,
      timeline,
      metrics: ofCore,
      numbers: new Numbers({ engine, timeline, metrics: ofCore }),
      maySend: () => true,
      onCommitted: async () => {},
    });
    const { report, message } = await importLocally(
      {
        database,
        store,
        log,
        dataDir: config.dataDir,
        writes: new ImportedWrites(lockedWrites),
        web: new GuardedFetch(await context.openGuard()),
      },
      {
        accountId,
        source,
        archive: resolve(archive),
        signal: stop.signal,
        options: optionsOf(options),
        progress: (done, total) => line.show(done, total),
      },
    );
    line.end();
    await print(report);
    if (report.status === 'completed') return undefined;
    throw new Error(
      stop.signal.aborted
        ? `the import ${report.import_id} is paused: the same command goes on`
        : `the import ${report.import_id} is ${report.status}: ${message ?? 'it was stopped'}`,
    );
  } finally {
    line.end();
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

function optionsOf(options: Readonly<Record<string, string>>) {
  const { origin, 'email-domain': email_domain, 'file-token': file_token } = options;
  return {
    ...(origin !== undefined && { origin }),
    ...(email_domain !== undefined && { email_domain }),
    ...(file_token !== undefined && { file_token }),
    ...(options['emails-verified'] === 'yes' && { emails_verified: true }),
  };
}

/** Shows the progress of an import on standard error: a bar on a terminal, else some lines. */
class ProgressLine {
  #shownAtMs = 0;
  #isOpen = false;

  show(done: number, total: number): void {
    const { isTTY = false } = process.stderr;
    const nowMs = performance.now();
    if (total === 0 || nowMs - this.#shownAtMs < (isTTY ? BAR_EVERY_MS : LINE_EVERY_MS)) return;
    this.#shownAtMs = nowMs;
    const share = Math.min(1, done / total);
    const percent = `${Math.floor(share * 100)} %`.padStart(5);
    const filled = Math.floor(share * BAR_WIDTH);
    const bar = `[${'#'.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}]`;
    this.#isOpen = isTTY;
    process.stderr.write(isTTY ? `\r${bar}${percent}` : `imported${percent} of ${total} bytes\n`);
  }

  /** Ends the bar's line. */
  end(): void {
    if (this.#isOpen) process.stderr.write('\n');
    this.#isOpen = false;
  }
}

const BAR_WIDTH = 40;
const BAR_EVERY_MS = 200;
const LINE_EVERY_MS = 10_000;
