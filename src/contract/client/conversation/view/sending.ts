import type { ChatMessage, SendMessageBody } from '../../../protocol/resources/chat-message.ts';
import type { CallOptions } from '../../link/call-scope.ts';
import type { AttachmentInput } from '../../rest/upload.ts';
import { Turns } from '../turns.ts';
import { localMessage } from './local-echo.ts';
import type { TimelineMessage } from './timeline.ts';
import type { ViewCore } from './view-core.ts';

type SendingCore = Pick<ViewCore, 'id' | 'host' | 'timeline' | 'each' | 'quoteOf' | 'update'>;

/** The messages that are being sent from one view, each with its local echo. */
export class Sending {
  readonly #core: SendingCore;
  readonly #turns = new Turns();
  /** The uploaded pictures of messages that are not sent yet, by their keys. */
  readonly #files = new Map<string, Blob>();
  /** The URLs of their previews. */
  readonly #previews = new Map<string, string>();

  constructor(core: SendingCore) {
    this.#core = core;
  }

  /** Rejects as Rest.send does; the rejection may be ignored. */
  send(key: string, request: SendMessageBody, options: CallOptions): Promise<ChatMessage> {
    const { id, host } = this.#core;
    const echo = localMessage(key, request, {
      sender: host.actor(),
      created_at: this.#echoOf(key)?.created_at ?? new Date().toISOString(),
      reply_to: request.reply_to_message_id ? this.#core.quoteOf(request.reply_to_message_id, null) : null,
      previewOf: (s3Key) => this.#previewOf(s3Key),
    });
    this.#core.each((timeline) => timeline.echo(echo));
    return this.#turns.run(async () => {
      try {
        const message = await host.rest.send(id, request, options);
        this.#core.each((timeline) => timeline.acknowledge(key, message));
        this.#core.update(message);
        this.#forget(request);
        return message;
      } catch (error) {
        this.#core.each((timeline) => timeline.fail(key, error as Error));
        throw error;
      }
    });
  }

  /** Sends a failed message again. */
  retry(key: string): Promise<ChatMessage> {
    return this.send(key, this.#failed(key).request, {});
  }

  /** Removes a failed message. */
  discard(key: string): void {
    const { request } = this.#failed(key);
    this.#core.each((timeline) => timeline.discard(key));
    this.#forget(request);
  }

  /** Remembers a file for the preview of a message that has it. */
  uploaded({ kind, s3_key }: AttachmentInput, file: Blob): void {
    // Elsewhere than on a page nothing can show it.
    if (kind === 'image' && s3_key !== undefined && 'document' in globalThis) this.#files.set(s3_key, file);
  }

  /** Drops the previews. */
  close(): void {
    for (const url of this.#previews.values()) URL.revokeObjectURL(url);
    this.#previews.clear();
    this.#files.clear();
  }

  #echoOf(key: string): TimelineMessage | undefined {
    return this.#core.timeline.messages.find((one) => one.key === key);
  }

  #failed(key: string) {
    const message = this.#echoOf(key);
    if (message?.delivery !== 'failed') {
      throw new TypeError(`There is no failed message ${JSON.stringify(key)}.`);
    }
    return message;
  }

  #previewOf(s3Key: string): string | null {
    const file = this.#files.get(s3Key);
    if (file === undefined) return null;
    const url = this.#previews.get(s3Key) ?? URL.createObjectURL(file);
    this.#previews.set(s3Key, url);
    return url;
  }

  /** A page has what it has drawn: browsers show an image until the next one is loaded. */
  #forget({ attachments = [] }: SendMessageBody): void {
    for (const { s3_key = '' } of attachments) {
      const url = this.#previews.get(s3_key);
      if (url !== undefined) URL.revokeObjectURL(url);
      this.#previews.delete(s3_key);
      this.#files.delete(s3_key);
    }
  }
}
