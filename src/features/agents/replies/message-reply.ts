import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { ConversationFacts } from '../../../core/conversations/directory/directory.ts';
import type { RunRow } from '../../../core/resources/run.ts';
import { LiveReply, type ReplyHost } from './live-reply.ts';
import { claimReply } from './store.ts';

/** The reply in a team's conversation: one message, which appears with the first text and grows. */
export class MessageReply extends LiveReply {
  protected readonly endEvent = 'message.updated';
  readonly #sender: Actor;

  constructor(host: ReplyHost, run: RunRow, facts: ConversationFacts, sender: Actor) {
    super(host, run, facts);
    this.#sender = sender;
  }

  protected async insert(id: string): Promise<number> {
    // The claim precedes the message: a message that this node begins after it has lost the run can
    // still be found (complete-reply.ts).
    await claimReply(this.host.database, this.run, id);
    const { row } = await this.host.writePath.append({
      message: { ...this.newMessage(id), visibility: 'internal', sender_id: this.#sender.id },
      sender: this.#sender,
      audience: this.facts.audience,
    });
    return row.sequence ?? 0;
  }
}
