import { ID_PREFIXES } from '../../../contract/protocol/ids.ts';
import { UPLOAD_LIMITS } from '../../../contract/protocol/resources/upload.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import { insertUpload } from '../../../core/attachments/uploads.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { AttachedTool } from '../../../platform/db/tables/schema.ts';
import {
  type ArtifactRow,
  findArtifact,
  insertArtifact,
  markAttached,
  readArtifact,
} from './artifact-store.ts';
import { TOOL_BYTES } from './built-in-definitions.ts';
import { builtInTool } from './built-in-tool.ts';
import { type RunTool, ToolRefusal } from './tool.ts';

/** Stores a text of the agent as a file: `{artifact_id, filename, size_bytes}`. */
export function createArtifactTool(
  attached: AttachedTool,
  { database, store }: { readonly database: Database; readonly store: ObjectStore },
): RunTool {
  const { max_bytes: maxBytes = TOOL_BYTES.artifact } = (attached.config ?? {}) as Config;
  return builtInTool(attached, {
    parameters: PARAMETERS,
    async call(args, { accountId, runId, actionId, principal }) {
      const { filename, content_type: contentType = 'text/plain', content } = args as unknown as Arguments;
      const bytes = Buffer.from(content);
      if (bytes.length > maxBytes) {
        throw new ToolRefusal('validation_failed', `content: Has more than ${maxBytes} bytes.`);
      }
      const artifact = {
        accountId,
        actorId: principal.actor.id,
        runId,
        actionId,
        filename,
        contentType,
        bytes,
      };
      const made = await makeArtifact(database, store, artifact);
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

interface NewArtifact {
  readonly accountId: string;
  /** The agent's actor id. */
  readonly actorId: string;
  readonly runId: string;
  /** An action makes one artifact, however often it is repeated. */
  readonly actionId: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

/**
 * Returns the artifact of an action and creates it if necessary. A creation that broke off is
 * removed by the purge of uploads, or completed by a repetition. Throws ApiError `limit_exceeded`.
 */
async function makeArtifact(
  database: Database,
  store: ObjectStore,
  artifact: NewArtifact,
): Promise<ArtifactRow> {
  const id = idOf('artifact', artifact.actionId);
  const made = await findArtifact(database, artifact.accountId, id);
  if (made !== undefined) return made;
  const key = idOf('upload', artifact.actionId);
  const file = {
    s3_key: key,
    account_id: artifact.accountId,
    filename: artifact.filename,
    content_type: artifact.contentType,
    size_bytes: artifact.bytes.length,
  };
  const upload = { ...file, actor_id: artifact.actorId };
  await database.transaction((tx) => insertUpload(tx, upload, store.accountBytes));
  await store.put({ key, contentType: artifact.contentType }, artifact.bytes);
  return database.transaction(async (tx) => {
    await insertArtifact(tx, { ...file, id, run_id: artifact.runId });
    await markAttached(tx, key);
    return readArtifact(tx, id);
  });
}

/** Action, artifact and upload share the id after its prefix, so a repetition uses the same. */
function idOf(kind: 'artifact' | 'upload', actionId: string): string {
  return `${ID_PREFIXES[kind]}_${actionId.slice(actionId.indexOf('_') + 1)}`;
}
