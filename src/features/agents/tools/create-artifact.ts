import { ApiError } from '../../../contract/protocol/errors.ts';
import { UPLOAD_LIMITS } from '../../../contract/protocol/resources/upload.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { AttachedTool } from '../../../platform/db/tables/schema.ts';
import { makeArtifact } from './artifacts.ts';
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
      const made = await makeArtifact(database, store, artifact).catch((error: unknown) => {
        if (error instanceof ApiError) throw new ToolRefusal(error.condition, error.message);
        throw error;
      });
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
