import type { Counts } from '@parley/archives/record.ts';
import {
  IMPORT_LIMITS,
  IMPORTED_TYPES,
  type ImportCount,
  type ImportCounts,
  type ImportedType,
} from '@parley/protocol/resources/import.ts';
import type { Addition, LastRemark, RemarkRow } from '../imports/remarks.ts';

type Outcome = 'imported' | 'existed' | 'skipped';

/** Why something was left out or changed. */
export interface Reason {
  /** A stable word, to count by: `legal_hold`. */
  readonly reason: string;
  /** The same as a sentence. */
  readonly detail: string;
  /** The place in the archive. */
  readonly place: string;
}

/** The outcomes of an archive's records, with remarks that are not stored yet. */
export class Tally {
  readonly #importId: string;
  readonly #counts: Record<ImportedType, Record<Outcome, number>>;
  #remarks: RemarkRow[] = [];
  #items = new Map<number, number>();
  /** The last remark of each type and reason, stored or not. */
  readonly #last = new Map<string, { record: number; item: number; remarks: number }>();
  #remarksOfAll = 0;
  /** What the last remarks count in addition since the last call of `takeAdditions`. */
  #additions = new Map<string, number>();

  constructor(importId: string, counts: ImportCounts) {
    this.#importId = importId;
    const counted = IMPORTED_TYPES.map((type) => {
      const { imported = 0, existed = 0, skipped = 0 } = counts[type] ?? {};
      return [type, { imported, existed, skipped }] as const;
    });
    this.#counts = Object.fromEntries(counted) as Record<ImportedType, Record<Outcome, number>>;
  }

  /** Continues after the remarks that an earlier try of the import has stored. */
  goOn(stored: readonly LastRemark[]): void {
    for (const { type, reason, ...last } of stored) {
      this.#last.set(`${type} ${reason}`, last);
      this.#remarksOfAll += last.remarks;
    }
  }

  add(type: ImportedType, outcome: 'imported' | 'existed', count = 1): void {
    this.#counts[type][outcome] += count;
  }

  /** Counts a skipped thing. `record`: the number of the record in the archive. */
  skip(type: ImportedType, record: number, reason: Reason, count = 1): void {
    if (count === 0) return;
    this.#counts[type].skipped += count;
    this.#remark(type, record, reason, count);
  }

  note(record: number, reason: Reason): void {
    this.#remark('note', record, reason, 1);
  }

  /** Returns the number of remarks since the last call of `takeRemarks`. */
  get pending(): number {
    return this.#remarks.length;
  }

  /** Returns the remarks since the last call. */
  takeRemarks(): readonly RemarkRow[] {
    const remarks = this.#remarks;
    this.#remarks = [];
    this.#items = new Map();
    return remarks;
  }

  /** Returns the additions to remarks of earlier calls, whose rows are stored. */
  takeAdditions(): readonly Addition[] {
    const additions = [...this.#additions];
    this.#additions = new Map();
    return additions.map(([key, count]) => {
      const { record, item } = this.#last.get(key)!;
      return { record, item, count };
    });
  }

  /**
   * Returns the counts so far, as if the archive ended here, or against the contents in `found`.
   */
  counts(found?: Counts): ImportCounts {
    const counts: Partial<Record<ImportedType, ImportCount>> = {};
    for (const type of IMPORTED_TYPES) {
      const { existed, skipped } = this.#counts[type];
      // Documents are read but become nothing; the reader counts them.
      const imported =
        type === 'documents' ? (found?.documents ?? skipped) - skipped : this.#counts[type].imported;
      const in_archive = found?.[type] ?? imported + existed + skipped;
      if (in_archive + imported + existed + skipped > 0)
        counts[type] = { in_archive, imported, existed, skipped };
    }
    return counts;
  }

  /**
   * Adds a remark. From a limit on, the last remark of a reason counts all further ones, because an
   * archive may have millions.
   */
  #remark(type: RemarkRow['type'], record: number, reason: Reason, count: number): void {
    const key = `${type} ${reason.reason}`;
    const last = this.#last.get(key);
    const most = this.#remarksOfAll < IMPORT_LIMITS.remarks ? IMPORT_LIMITS.remarksOfReason : 1;
    if (last !== undefined && last.remarks >= most) {
      this.#additions.set(key, (this.#additions.get(key) ?? 0) + count);
      return;
    }
    const item = this.#items.get(record) ?? 0;
    this.#items.set(record, item + 1);
    this.#last.set(key, { record, item, remarks: (last?.remarks ?? 0) + 1 });
    this.#remarksOfAll += 1;
    this.#remarks.push({ import_id: this.#importId, record, item, type, count, ...reason });
  }
}
