import type { Reader } from '../../platform/settings/reader.ts';
import { wholeNumber } from '../../platform/settings/values.ts';

declare module '../../core/features/node-settings.ts' {
  interface NodeSettings extends ComplianceSettings {}
}

type ComplianceSettings = Readonly<ReturnType<typeof readComplianceSettings>>;

export function readComplianceSettings(reader: Reader) {
  return {
    /** How long a deleted conversation can be restored before it is purged. */
    restoreDays: reader.read('PARLEY_RESTORE_DAYS', wholeNumber(1, 3_650), 30),
    /** Milliseconds between two sweeps of rows that are older than their policies. */
    retentionSweepMs: reader.read('PARLEY_RETENTION_SWEEP_MS', wholeNumber(100, 86_400_000), 600_000),
  };
}
