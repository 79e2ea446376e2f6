import type { CommandFields, CommandResult } from '@parley/protocol/socket/commands.ts';
import type { RequestOp } from '../link/requests.ts';
import type { FollowHost } from '../live/follow-host.ts';
import type { Outbox, OutboxHost } from '../outbox/outbox.ts';
import type { Conversations } from '../rest/conversations.ts';
import type { Rest } from '../rest/rest.ts';
import type { AttachmentInput, UploadOptions } from '../rest/upload.ts';
import type { OwnIds } from './own-ids.ts';

/** The additions to FollowHost that a conversation needs of its client. */
export interface ConversationHost extends FollowHost {
  readonly rest: Pick<Rest, 'including'>;
  readonly conversations: Conversations;
  readonly ownIds: OwnIds;
  /** Returns the client's outbox, made on the first call. */
  outbox(make: (host: OutboxHost) => Outbox): Outbox;
  request<O extends RequestOp>(op: O, fields: CommandFields<O>): Promise<CommandResult<O>>;
  upload(file: Blob & { readonly name?: string }, options: UploadOptions): Promise<AttachmentInput>;
}
