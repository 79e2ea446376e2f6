import { ID_PREFIXES } from '@parley/protocol/ids.ts';
import { hasPermission } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { mayRead } from '../../../core/conversations/directory/access.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import { readMessage } from '../../../core/resources/message.ts';
import type { AttachedTool } from '../../../core/tables/agent-tables.ts';
import { findArtifact } from './artifact-store.ts';
import { builtInTool } from './built-in-tool.ts';
import { cutText, decodeText, isTextType, TEXT_BYTES } from './document-text.ts';
import { type RunTool, type ToolContext, ToolRefusal } from './tool.ts';

export type ReadDocOptions = Pick<NodeParts, 'database' | 'store' | 'directory'>;

/**
 * Returns `{id, filename, content_type, size_bytes, text, truncated}` of a file of the account.
 * Files of a conversation follow its access over REST. A forbidden file looks missing.
 */
export function readDocTool(attached: AttachedTool, options: ReadDocOptions): RunTool {
  return builtInTool(attached, {
    parameters: PARAMETERS,
    async call(args, context) {
      const id = String(args.id);
      const doc = await findDoc(options, id, context);
      if (doc === undefined) throw notFound();
      if (doc.s3_key === null) {
        throw new ToolRefusal('validation_failed', `This is no file but a ${doc.kind}.`);
      }
      const { filename, content_type, size_bytes } = doc;
      if (!isTextType(content_type ?? '')) {
        throw new ToolRefusal('validation_failed', `This is ${content_type}, which cannot be read as text.`);
      }
      // One byte more than the limit shows whether the file is longer.
      const bytes = await options.store.read(doc.s3_key, TEXT_BYTES + 1);
      if (bytes === undefined) throw notFound();
      const isCut = bytes.length > TEXT_BYTES;
      const { text, truncated } = cutText(
        decodeText(bytes.subarray(0, TEXT_BYTES), content_type ?? ''),
        TEXT_BYTES,
      );
      return { output: { id, filename, content_type, size_bytes, text, truncated: isCut || truncated } };
    },
  });
}

const PARAMETERS = {
  type: 'object',
  properties: {
    id: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      description: `Of an artifact (${ID_PREFIXES.artifact}_…) or of an attachment (${ID_PREFIXES.attachment}_…).`,
    },
  },
  required: ['id'],
  additionalProperties: false,
};

/**
 * Returns an attachment or an artifact, which may be no file; undefined if this agent may read
 * none.
 */
async function findDoc(options: ReadDocOptions, id: string, { accountId, principal }: ToolContext) {
  if (id.startsWith(`${ID_PREFIXES.artifact}_`)) {
    const artifact = await findArtifact(options.database, accountId, id);
    if (artifact === undefined || !(await mayReadRun(options, artifact.run_id, principal))) return undefined;
    return { ...artifact, kind: 'file' };
  }
  const attachment = await options.database.kysely
    .selectFrom('attachments')
    .select(['conversation_id', 'message_id', 'kind', 's3_key', 'filename', 'content_type', 'size_bytes'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (attachment === undefined) return undefined;
  if (!(await mayReadConversation(options, attachment.conversation_id, principal))) return undefined;
  const message = await readMessage(options.database, attachment.message_id);
  return message && attachment;
}

/** Returns whether the run is the agent's own, without a conversation, or in a readable one. */
async function mayReadRun(options: ReadDocOptions, runId: string, principal: Principal): Promise<boolean> {
  const run = await options.database.kysely
    .selectFrom('agent_runs')
    .select(['actor_id', 'conversation_id'])
    .where('id', '=', runId)
    .executeTakeFirstOrThrow();
  if (run.actor_id === principal.actor.id || run.conversation_id === null) return true;
  return mayReadConversation(options, run.conversation_id, principal);
}

/**
 * Applies the rule of REST (core/conversations/directory/access.ts), with the endpoints'
 * permission.
 */
async function mayReadConversation(
  { directory }: ReadDocOptions,
  conversationId: string,
  principal: Principal,
): Promise<boolean> {
  if (!hasPermission(principal, 'messaging:read')) return false;
  const facts = await directory.facts(conversationId);
  return facts !== undefined && mayRead(principal, facts);
}

function notFound(): ToolRefusal {
  return new ToolRefusal('resource_not_found', 'There is no such document.');
}
