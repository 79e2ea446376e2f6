import { type Static, Type } from 'typebox';
import { Body, describe, Identity, Line, Nullable, OneOf, Timestamp } from '../schema/schema.ts';

/** The services whose archives are read. */
const IMPORT_SOURCES = ['slack', 'mattermost', 'zulip', 'parley'] as const;
export type ImportSource = (typeof IMPORT_SOURCES)[number];

const IMPORT_STATUSES = ['awaiting_upload', 'queued', 'running', 'completed', 'failed', 'canceled'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

/** The kinds of things in an archive, in the order of reports. A document is one of its files. */
export const IMPORTED_TYPES = [
  'people',
  'conversations',
  'messages',
  'reactions',
  'files',
  'pins',
  'read_positions',
  'documents',
] as const;
export type ImportedType = (typeof IMPORTED_TYPES)[number];

export interface ImportCount {
  readonly in_archive: number;
  readonly imported: number;
  readonly existed: number;
  readonly skipped: number;
}

/** The outcome of an archive's things by kind; absent kinds have none. */
export type ImportCounts = Readonly<Partial<Record<ImportedType, ImportCount>>>;

export const IMPORT_LIMITS = {
  /** Days for which parts of an import that is not complete are kept. */
  partDays: 7,
  /** Days for which an import that has ended can be read. */
  keptDays: 90,
  /** The things that a report names for each reason. */
  examples: 20,
  /** Remarks of a type and reason; the last remark counts all later ones. */
  remarksOfReason: 1_000,
  /** Remarks of an import, beyond which each further reason has one. */
  remarks: 9_000,
  originCharacters: 255,
  tokenCharacters: 512,
} as const;

const Count = { in_archive: Type.Integer(), imported: Type.Integer(), existed: Type.Integer() };

const ImportProgress = Type.Object({
  done: Type.Integer({ minimum: 0 }),
  total: Type.Integer({ minimum: 0 }),
});
describe(ImportProgress, {
  done: 'Bytes of the archive that were read.',
  total: 'Bytes that there are to read, 0 before it began.',
});

const CountOfType = Type.Object({
  type: OneOf(IMPORTED_TYPES),
  ...Count,
  skipped: Type.Integer(),
});
const COUNT_TEXTS = {
  type: 'The kind of thing.',
  in_archive: 'How many the archive has, as far as it was read.',
  imported: 'How many this import has written.',
  existed: 'How many an earlier import, or an earlier attempt, had written.',
};
describe(CountOfType, {
  ...COUNT_TEXTS,
  skipped: 'How many were left out; the report says why.',
});

const Parts = Type.Object({
  size_bytes: Type.Integer({ minimum: 1 }),
  count: Type.Integer({ minimum: 1 }),
  uploaded: Type.Array(Type.Integer({ minimum: 1 })),
});
describe(Parts, {
  size_bytes: 'Size of every part but the last in bytes; the last one has the rest.',
  count: 'How many parts there are, numbered from 1.',
  uploaded: 'The numbers of the parts that are there.',
});

/** An archive of another service that the account brings in (docs/contract.md#imports). */
export const Import = Type.Object({
  ...Identity('import'),
  source: OneOf(IMPORT_SOURCES),
  status: OneOf(IMPORT_STATUSES),
  origin: Nullable(Type.String()),
  email_domain: Nullable(Type.String()),
  emails_verified: Type.Boolean(),
  size_bytes: Type.Integer({ minimum: 0 }),
  sha256: Nullable(Type.String()),
  parts: Nullable(Parts),
  progress: ImportProgress,
  counts: Type.Array(CountOfType),
  error: Nullable(Type.String()),
  error_message: Nullable(Type.String()),
  created_by: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
  started_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
});
export type Import = Static<typeof Import>;

describe(Import, {
  source: 'The service that wrote the archive.',
  status:
    'An import is `awaiting_upload` until it is started, then `queued`, then `running`, then `completed` or `failed`; `canceled` once it was stopped. A failed or canceled one goes on where it stopped when it is started again.',
  origin: 'Tells servers of the same service apart whose archives the account imports. Null for one server.',
  email_domain:
    'The domain that makes addresses of the user names of an archive without addresses. Null for none.',
  emails_verified:
    'Whether the addresses in the archive are known to belong to their persons: users with the same address are then the same persons.',
  size_bytes: 'Size of the archive in bytes.',
  sha256: 'SHA-256 of the archive as hex, which is checked before it is read. Null if it is not known.',
  parts: 'The parts in which the archive is uploaded. Null for an import by the operator.',
  progress: 'How far it has come.',
  counts: 'What became of the things in the archive, by their kind.',
  error: 'Why it failed, as the code of an error. Null otherwise.',
  error_message: 'Why it failed, as a sentence. Null otherwise.',
  created_by: 'Id of the actor that created it. Null for the operator.',
  started_at: 'When it first began to read the archive. Null before.',
  completed_at: 'When it was completed, failed or canceled. Null before.',
});

/** Body of Create Import; the deployment decides `maxBytes`. */
export function CreateImportBody(maxBytes: number) {
  const schema = Body({
    source: OneOf(IMPORT_SOURCES),
    size_bytes: Type.Integer({ minimum: 1, maximum: maxBytes }),
    sha256: Type.Optional(
      Type.String({ pattern: '^[0-9a-f]{64}$', sentence: 'Must be 64 lower-case hex digits.' }),
    ),
    origin: Type.Optional(Line(IMPORT_LIMITS.originCharacters)),
    email_domain: Type.Optional(Type.String({ format: 'hostname', maxLength: 253 })),
    emails_verified: Type.Optional(Type.Boolean()),
    file_token: Type.Optional(Line(IMPORT_LIMITS.tokenCharacters)),
  });
  describe(schema, {
    source: 'The service that wrote the archive.',
    size_bytes: 'Size of the archive in bytes, exactly.',
    sha256: 'SHA-256 of the archive, as 64 lower-case hex digits; a different archive fails the import.',
    origin: 'A name of the server, if archives of several servers of the same service are imported.',
    email_domain: 'Makes `<user name>@<domain>` the address of persons for whom the archive has none.',
    emails_verified:
      'States that the addresses in the archive belong to their persons. A user of the account with the same address is then the same person; otherwise each person becomes a placeholder.',
    file_token: 'A token of the service with which files are fetched. It is removed when the import ends.',
  });
  return schema;
}
export type CreateImportBody = Static<ReturnType<typeof CreateImportBody>>;

export const CreateImportPartBody = Body({ number: Type.Integer({ minimum: 1 }) });
describe(CreateImportPartBody, { number: 'The number of the part, from 1.' });

/** A part of an archive that was not imported, or was changed. */
export const ImportRemark = Type.Object({
  object: Type.Literal('import_remark'),
  type: OneOf([...IMPORTED_TYPES, 'note']),
  reason: Type.String(),
  count: Type.Integer({ minimum: 1 }),
  detail: Type.String(),
  place: Type.String(),
});
export type ImportRemark = Static<typeof ImportRemark>;
describe(ImportRemark, {
  type: 'The kind of thing that was left out; `note` for what was imported, but not as it was.',
  reason: 'Why, such as `file_unavailable`. The set is open-ended and may grow.',
  count: 'How many things it is about.',
  detail: 'The same as a sentence, with the name or the value in question.',
  place: 'Where it is in the archive.',
});

const Reason = Type.Object({
  reason: Type.String(),
  count: Type.Integer({ minimum: 1 }),
  examples: Type.Array(ImportRemark),
});
describe(Reason, {
  reason: 'Why. The set is open-ended and may grow.',
  count: 'How many things it is about.',
  examples: `The first of them, at most ${IMPORT_LIMITS.examples}; List Import Remarks has all.`,
});

const ReportOfType = Type.Object({
  type: OneOf(IMPORTED_TYPES),
  ...Count,
  skipped: Type.Array(Reason),
});
describe(ReportOfType, { ...COUNT_TEXTS, skipped: 'What was left out, by reason.' });

/** The outcome of everything in an archive. */
export const ImportReport = Type.Object({
  object: Type.Literal('import_report'),
  import_id: Type.String(),
  status: OneOf(IMPORT_STATUSES),
  adds_up: Type.Boolean({ examples: [true] }),
  types: Type.Array(ReportOfType),
  notes: Type.Array(Reason, { examples: [[]] }),
});
export type ImportReport = Static<typeof ImportReport>;
describe(ImportReport, {
  import_id: 'The import that it is about.',
  status: 'The status of the import.',
  adds_up:
    'Whether for every kind `in_archive` equals what was imported, what existed and what was skipped. An import that does not add up fails.',
  types: 'What became of the things in the archive, by their kind.',
  notes: 'What was imported, but not as it was, by reason.',
});
