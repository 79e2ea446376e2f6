import type {
  ImportCounts,
  ImportedType,
  ImportSource,
  ImportStatus,
} from '@parley/protocol/resources/import.ts';
import type { ColumnType, Generated } from 'kysely';
import type { Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends ImportTables {}
}

interface ImportTables {
  imports: Times & {
    id: string;
    account_id: string;
    source: ImportSource;
    options: ColumnType<ImportOptions, string | undefined, string>;
    /** The archive is a file of the operator's command, which runs the import itself. */
    is_local: Generated<boolean>;
    status: ImportStatus;
    size_bytes: number;
    /** The size of every part but the last; null if nothing is uploaded. */
    part_bytes: number | null;
    /** Hash of the archive, in lower-case hexadecimal. */
    sha256: string | null;
    /** Number of finished records of the archive. */
    position: Generated<number>;
    counts: ColumnType<ImportCounts, string | undefined, string>;
    done: Generated<number>;
    total: Generated<number>;
    error: string | null;
    error_message: string | null;
    /** Null for an import of the operator. */
    created_by: string | null;
    attempts: Generated<number>;
    /** Grows whenever a node takes the import. */
    fence: Generated<number>;
    lease_until: string | null;
    started_at: string | null;
    completed_at: string | null;
  };

  import_parts: {
    import_id: string;
    /** From 1. */
    number: number;
    s3_key: string;
    size_bytes: number;
    /** When the bytes were first seen. */
    uploaded_at: string | null;
  };

  import_refs: {
    /** A hash of the account, the service, its server and the id there. */
    key: string;
    account_id: string;
    /** The id of an actor or a conversation, or the key of an upload. */
    our_id: string;
    /** The import that created or found it. */
    import_id: string;
    is_made: boolean;
  };

  import_remarks: {
    import_id: string;
    /** The number of the record in the archive, from 0. */
    record: number;
    /** The number of the remark on that record, from 0. */
    item: number;
    /** `note` for records that were imported with changes. */
    type: ImportedType | 'note';
    reason: string;
    /** The number of things that the remark covers. */
    count: number;
    detail: string;
    place: string;
  };
}

/** How an archive is imported, as stated by a request or a command. */
export interface ImportOptions {
  /** Tells servers of the same kind apart. */
  readonly origin?: string;
  /** Makes addresses of user names in archives without addresses. */
  readonly email_domain?: string;
  readonly emails_verified?: boolean;
  /** A secret; removed when the import ends. */
  readonly file_token?: string;
}
