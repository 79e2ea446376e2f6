import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
} from '@modelcontextprotocol/server';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { type Called, type CallOptions, CallRefusal, type EndpointCalls } from './endpoint-calls.ts';

export type ResourceParts = Pick<NodeParts, 'database' | 'store'>;

export const TEMPLATES: ListResourceTemplatesResult['resourceTemplates'] = [
  {
    uriTemplate: 'parley://conversations/{id}',
    name: 'conversation',
    title: 'Conversation',
    description: 'A conversation with its newest messages, newest first.',
    mimeType: 'application/json',
  },
  {
    uriTemplate: 'parley://messages/{message_id}/files/{id}',
    name: 'file',
    title: 'File of a message',
    description: 'The content of a file; one of more than 4 MiB as its facts, with its address.',
  },
];

/** Lists conversations; the cursor is the query of the next page. */
export async function listResources(
  calls: EndpointCalls,
  cursor: string | undefined,
  options: CallOptions,
): Promise<ListResourcesResult> {
  const query = Object.fromEntries(new URLSearchParams(cursor ?? ''));
  const called = await calls.callNamed('list_conversations', { query }, options);
  const { data, page_info } = called!.value as unknown as List<Conversation>;
  const next = page_info.next_page_url;
  const resources = data.map(({ id, title, type }) => ({
    uri: `parley://conversations/${id}`,
    name: id,
    title: title ?? type,
    mimeType: 'application/json',
  }));
  return { resources, ...(next !== null && { nextCursor: next.slice(next.indexOf('?') + 1) }) };
}

/** Rejects like `EndpointCalls.call`; with `resource_not_found` for an address of another form. */
export async function readResource(
  parts: ResourceParts,
  calls: EndpointCalls,
  uri: string,
  options: CallOptions,
): Promise<ReadResourceResult> {
  const [, conversationId] = CONVERSATION.exec(uri) ?? [];
  if (conversationId !== undefined) return readConversation(calls, uri, conversationId, options);
  const [, messageId, fileId] = FILE.exec(uri) ?? [];
  if (messageId !== undefined) return readFile(parts, calls, uri, messageId, fileId!, options);
  throw notThere();
}

const CONVERSATION = /^parley:\/\/conversations\/([\w:.-]+)$/;
const FILE = /^parley:\/\/messages\/(\w+)\/files\/(\w+)$/;

const WITH_FILES = { include: ['attachments'] };

async function readConversation(
  calls: EndpointCalls,
  uri: string,
  id: string,
  options: CallOptions,
): Promise<ReadResourceResult> {
  const path = { id };
  const conversation = await calls.callNamed('get_conversation', { path }, options);
  const messages = await calls.callNamed('list_messages', { path, query: WITH_FILES }, options);
  const text = `{"conversation":${conversation!.text},"messages":${messages!.text}}`;
  return { contents: [{ uri, mimeType: 'application/json', text }] };
}

/** The message decides who may read its files, as over REST. */
async function readFile(
  { database, store }: ResourceParts,
  calls: EndpointCalls,
  uri: string,
  messageId: string,
  fileId: string,
  options: CallOptions,
): Promise<ReadResourceResult> {
  const message = await calls.callNamed(
    'get_message',
    { path: { id: messageId }, query: WITH_FILES },
    options,
  );
  const file = attachmentIn(message!, fileId);
  const row = await database.kysely
    .selectFrom('attachments')
    .select('s3_key')
    .where('id', '=', file.id)
    .executeTakeFirst();
  const key = row?.s3_key ?? null;
  if (key === null) throw notThere();
  const mimeType = file.content_type ?? 'application/octet-stream';
  // One byte more than the limit shows whether the file is longer.
  const bytes = await store.read(key, FILE_BYTES + 1);
  if (bytes === undefined) throw notThere();
  if (bytes.length > FILE_BYTES)
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(file) }] };
  const isText = mimeType.startsWith('text/') || mimeType === 'application/json';
  const content = isText ? { text: bytes.toString() } : { blob: bytes.toString('base64') };
  return { contents: [{ uri, mimeType, ...content }] };
}

/** Bytes of a file in one answer, which is in memory as a whole. */
const FILE_BYTES = 4 * 1024 * 1024;

function attachmentIn({ value }: Called, id: string): Attachment {
  const { attachments } = value as unknown as ChatMessage;
  const found = (attachments ?? []).find((attachment) => attachment.id === id);
  if (found === undefined || found.url === null || found.kind === 'link') throw notThere();
  return found;
}

function notThere(): CallRefusal {
  return CallRefusal.of(new ApiError('resource_not_found', 'There is no such resource.'));
}
