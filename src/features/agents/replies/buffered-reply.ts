import type { AgentReply } from './reply.ts';
import { ReplyText } from './reply-text.ts';

/** The reply of a run without a conversation: its text goes only into the run's output. */
export class BufferedReply implements AgentReply {
  readonly messageId = null;
  readonly #text = new ReplyText();

  get body(): string {
    return this.#text.body;
  }

  get ownText(): string {
    return this.#text.ownText;
  }

  append(text: string): void {
    this.#text.append(text);
  }

  reset(keep: number): void {
    this.#text.reset(keep);
  }

  open(): void {}

  async settle(): Promise<void> {}

  async finish(): Promise<void> {}

  abandon(): void {}
}
