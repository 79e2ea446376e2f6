import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { UIMessage } from 'ai';

/**
 * Returns messages of a conversation for `useChat`, oldest first: people's as `user`, agents' as
 * `assistant`. The texts of one run are one message with the id of the run. The caller's own
 * messages have the ids under which they were sent, so a stream that repeats them shows nothing
 * twice. Files are shown if `attachments` were expanded.
 */
export function toUIMessages(messages: readonly ChatMessage[]): UIMessage[] {
  const shown = new Map<string, UIMessage>();
  for (const message of messages) {
    const { kind, deleted_at, agent_run_id } = message;
    if (deleted_at !== null || kind === 'system_event' || kind === 'alert') continue;
    const id = agent_run_id ?? message.client_message_id ?? message.id;
    const earlier = shown.get(id);
    if (earlier !== undefined) earlier.parts.push(...partsOf(message));
    else shown.set(id, { id, role: isOfAgent(message) ? 'assistant' : 'user', parts: partsOf(message) });
  }
  return [...shown.values()];
}

function isOfAgent({ agent_run_id, kind, sender }: ChatMessage): boolean {
  return (agent_run_id ?? null) !== null || kind === 'agent' || sender?.type === 'agent';
}

function partsOf({ body, attachments, streaming_state }: ChatMessage): UIMessage['parts'] {
  const parts: UIMessage['parts'] = [];
  for (const { kind, url, content_type: mediaType, filename } of attachments ?? []) {
    const isFile = kind === 'file' || kind === 'image';
    if (isFile && url !== null) {
      const type = mediaType ?? 'application/octet-stream';
      parts.push({ type: 'file', mediaType: type, url, ...(filename === null ? {} : { filename }) });
    }
  }
  const isWriting = streaming_state === 'streaming';
  if (body !== null && body !== '') {
    parts.push({ type: 'text', text: body, state: isWriting ? 'streaming' : 'done' });
  }
  return parts;
}
