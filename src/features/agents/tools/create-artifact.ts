import { ID_PREFIXES } from '@parley/protocol/ids.ts';
import { UPLOAD_LIMITS } from '@parley/protocol/resources/upload.ts';
import { sql } from 'kysely';
import { insertUpload } from '../../../core/attachments/uploads.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { AttachedTool } from '../../../core/tables/agent-tables.ts';
import { type ArtifactRow, findArtifact } from './artifact-store.ts';
import { TOOL_BYTES } from './built-in-definitions.ts';
import { builtInTool } from './built-in-tool.ts';
import { type RunTool, type ToolContext, ToolRefusal } from './tool.ts';

/** Returns the tool that stores a text as a file: `{artifact_id, filename, size_bytes}`. */
export function createArtifactTool(
  attached: AttachedTool,
  parts: Pick<NodeParts, 'database' | 'store'>,
): RunTool {
  const { max_bytes: maxBytes = TOOL_BYTES.artifact } = (attached.config ?? {}) as Config;
  return builtInTool(attached, {
    parameters: PARAMETERS,
    async call(args, context) {
      const { filename, content_type = 'text/plain', content } = args as unknown as Arguments;
      const bytes = Buffer.from(content);
      if (bytes.length > maxBytes) {
        throw new ToolRefusal('validation_failed', `content: Has more than ${maxBytes} bytes.`);
      }
      const made = await makeArtifact(parts, context, { filename, content_type }, bytes);
      return { output: { artifact_id: made.id, filename: made.filename, size_bytes: made.size_bytes } };
    },
  });
}

/** The shape that the tool's config_schema accepts. */
interface Config {
  readonly max_bytes?: number;
}

/** The shape that the parameters accept. */
interface Arguments {
  readonly filename: string;
  readonly content_type?: string;
  readonly content: string;
}

const PARAMETERS = {
  type: 'object',
  properties: {
    filename: { type: 'string', minLength: 1, maxLength: UPLOAD_LIMITS.filenameCharacters },
    content_type: {
      type: 'string',
      enum: ['text/plain', 'text/markdown', 'text/csv', 'application/json', 'text/html'],
      default: 'text/plain',
    },
    content: { type: 'string', minLength: 1, maxLength: TOOL_BYTES.artifact },
  },
  required: ['filename', 'content'],
  additionalProperties: false,
};

/**
 * Returns the artifact of an action and creates it if necessary, once however often the action is
 * repeated. A creation that broke off is removed by the purge of uploads, or completed by a
 * repetition. Throws ApiError `limit_exceeded`.
 */
async function makeArtifact(
  { database, store }: Pick<NodeParts, 'database' | 'store'>,
  { accountId: account_id, runId: run_id, actionId, principal }: ToolContext,
  shown: Pick<ArtifactRow, 'filename' | 'content_type'>,
  bytes: Buffer,
): Promise<ArtifactRow> {
  const id = idOf('artifact', actionId);
  const made = await findArtifact(database, account_id, id);
  if (made !== undefined) return made;
  const key = idOf('upload', actionId);
  const file = { s3_key: key, account_id, ...shown, size_bytes: bytes.length };
  const upload = { ...file, actor_id: principal.actor.id };
  await database.transaction((tx) => insertUpload(tx, upload, store.accountBytes));
  await store.put({ key, contentType: shown.content_type }, bytes);
  return database.transaction(async (tx) => {
    await tx.kysely
      .insertInto('artifacts')
      .values({ ...file, id, run_id })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
    // The purge of uploads spares attached uploads.
    await tx.kysely
      .updateTable('uploads')
      .set({ attached_at: sql<string>`clock_timestamp()` })
      .where('s3_key', '=', key)
      .execute();
    return (await findArtifact(tx, account_id, id))!;
  });
}

/** Returns the action's id with another prefix, so that a repetition uses the same ids. */
function idOf(kind: 'artifact' | 'upload', actionId: string): string {
  return `${ID_PREFIXES[kind]}_${actionId.slice(actionId.indexOf('_') + 1)}`;
}
