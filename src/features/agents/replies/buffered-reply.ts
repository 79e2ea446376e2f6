import type { AgentReply } from './reply.ts';
import { ReplyText } from './reply-text.ts';

/** The reply of a run without a conversation: its text goes only into the run's output. */
export class BufferedReply extends ReplyText implements AgentReply {
  readonly messageId = null;

  open(): void {}

  async settle(): Promise<void> {}

  async finish(): Promise<void> {}

  abandon(): void {}
}
