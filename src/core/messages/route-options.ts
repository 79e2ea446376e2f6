import type { Database } from '../../platform/db/connection/database.ts';
import type { ObjectStore } from '../attachments/storage.ts';
import type { ConversationDirectory } from '../conversations/directory.ts';
import type { EncodedMessages } from '../resources/message.ts';
import type { Sender } from './sending/send.ts';
import type { LockedWrites } from './timeline/locked-write.ts';
import type { Timeline } from './timeline/timeline.ts';

/** The dependencies of message routes. */
export interface MessageRoutesOptions {
  readonly sender: Sender;
  readonly lockedWrites: LockedWrites;
  readonly database: Database;
  readonly files: ObjectStore;
  readonly directory: ConversationDirectory;
  readonly timeline: Timeline;
  readonly encoded: EncodedMessages;
}
