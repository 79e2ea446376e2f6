import type { ChatMessage, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { CallOptions } from '../../link/call-scope.ts';
import type { Outbox, Outgoing, OutgoingMessage } from '../../outbox/outbox.ts';
import { randomId } from '../../rest/rest.ts';
import type { AttachmentInput } from '../../rest/upload.ts';
import { handled } from '../../timing/serial-queue.ts';
import { localMessage } from './local-echo.ts';
import type { TimelineMessage } from './timeline.ts';
import type { ViewCore } from './view-core.ts';

type SendingCore = Pick<ViewCore, 'id' | 'host' | 'timeline' | 'each' | 'quoteOf' | 'update'>;

/** The messages that are being sent in a conversation, as one view shows them. */
export class Sending {
  readonly #core: SendingCore;
  readonly #outbox: Outbox;
  readonly #unfollow: () => void;
  /** The URLs of the uploaded pictures of messages that are not sent yet, by their keys. */
  readonly #previews = new Map<string, string>();

  constructor(core: SendingCore, outbox: Outbox) {
    this.#core = core;
    const each: SendingCore['each'] = (run) => core.each(run);
    this.#outbox = outbox;
    this.#unfollow = outbox.follow<OutgoingMessage, ChatMessage>(core.id, {
      pending: (record) => this.#show(record),
      sent: ({ key, request }, message) => {
        each((timeline) => timeline.acknowledge(key, message));
        core.update(message);
        this.#forget(request);
      },
      failed: ({ key }, error) => each((timeline) => timeline.fail(key, error)),
      discarded: ({ key, request }) => {
        each((timeline) => timeline.discard(key));
        this.#forget(request);
      },
    });
  }

  /** Rejects as Rest.send does; the rejection may be ignored. */
  send(body: SendMessageBody, options: CallOptions): Promise<ChatMessage> {
    const { id: conversation_id } = this.#core;
    const key = body.client_message_id ?? randomId();
    const request = { ...body, client_message_id: key };
    const known = this.#core.timeline.messages.find((one) => one.key === key);
    const created_at = known?.created_at ?? new Date().toISOString();
    return this.#send({ key, conversation_id, request, created_at }, options);
  }

  /** Sends a failed message again, or requests a failed change. */
  retry(key: string): Promise<ChatMessage> {
    return this.#send(this.#outbox.refused(key), {});
  }

  /** Removes a failed message or change. */
  discard(key: string): void {
    this.#outbox.discard(this.#outbox.refused(key).key);
  }

  /** Remembers a file for the preview of a message that has it. */
  uploaded({ kind, s3_key }: AttachmentInput, file: Blob): void {
    // Only a page can show it.
    if (kind !== 'image' || s3_key === undefined || !('document' in globalThis)) return;
    this.#previews.set(s3_key, URL.createObjectURL(file));
  }

  /** Drops the previews; pending messages are still sent. */
  close(): void {
    this.#unfollow();
    for (const url of this.#previews.values()) URL.revokeObjectURL(url);
    this.#previews.clear();
  }

  #show({ key, request, created_at }: OutgoingMessage): void {
    const isSent = (one: TimelineMessage) =>
      one.delivery === 'sent' && (one.key === key || one.client_message_id === key);
    if (this.#core.timeline.messages.some(isSent)) return;
    const echo = localMessage(key, request, {
      sender: this.#core.host.actor(),
      created_at,
      reply_to: request.reply_to_message_id ? this.#core.quoteOf(request.reply_to_message_id, null) : null,
      previewOf: (s3Key) => this.#previews.get(s3Key) ?? null,
    });
    this.#core.each((timeline) => timeline.echo(echo));
  }

  #send(item: Outgoing, options: CallOptions): Promise<ChatMessage> {
    const sent = this.#outbox.send(item, options) as Promise<ChatMessage>;
    void handled(sent);
    return sent;
  }

  /** Drops previews. Browsers show a drawn image until the next one is loaded. */
  #forget({ attachments = [] }: SendMessageBody): void {
    for (const { s3_key = '' } of attachments) {
      const url = this.#previews.get(s3_key);
      if (url !== undefined) URL.revokeObjectURL(url);
      this.#previews.delete(s3_key);
    }
  }
}
